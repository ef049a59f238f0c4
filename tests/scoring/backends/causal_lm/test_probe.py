"""The probe sees what is only in the last layers, tries what is forced by hand, and does not try again what it knows."""

import json
import shutil

import numpy as np
import pytest
import torch

from scoring.backends.causal_lm import head as heads
from scoring.backends.causal_lm import probe, trials
from scoring.backends.causal_lm.head import Backbone, OwnHead
from scoring.backends.causal_lm.probe import Verdicts, choose
from scoring.backends.causal_lm.strategies import Packed
from scoring.backends.causal_lm.trials import Trial, random_groups, tiny_model
from scoring.domain.backend import ScoringError, TokenText
from scoring.services.open_model import open_backend
from tests.scoring.backends.causal_lm.architectures import (
    config_of,
    expected_logprobs,
    late_windows,
    make_groups,
    make_model,
    perplexity_of,
)
from tests.scoring.tiny_models import save_random


def with_one_long_pair():
    """Texts of which one pair alone, neither the first nor the last, is longer than the window of 40 tokens."""
    groups = [[text[:30] for text in group] for group in make_groups()]
    rng = np.random.default_rng(5)
    long = np.append(groups[0][0][:20], rng.integers(3, 200, 60))
    return [groups[0], [long, np.append(long[:50], rng.integers(3, 200, 30))], *groups[2:]]


@pytest.mark.parametrize("kind", ["qwen2", "qwen2_moe"])
def test_windows_that_only_the_last_layers_have_are_seen(kind):
    model, groups = late_windows(kind), with_one_long_pair()
    strategy = choose(model, groups).strategy
    got = strategy.logprobs(groups[1:2])[0]
    for logprobs, ids in zip(got, groups[1], strict=True):
        expected = perplexity_of(expected_logprobs(model, ids))
        assert perplexity_of(logprobs) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kind", ["qwen2", "qwen2_moe"])
def test_a_mask_over_windows_of_the_last_layers_is_refused_though_it_is_asked_for(kind):
    with pytest.raises(ScoringError, match=r"strategy=mask is not right for this model: off by"):
        choose(late_windows(kind), with_one_long_pair(), "mask")


@pytest.mark.parametrize("rope", ["dynamic", "longrope"])
@pytest.mark.parametrize("by_layer_type", [False, True])
def test_positions_that_depend_on_the_longest_text_refuse_what_is_forced(rope, by_layer_type):
    model = make_model("llama")
    rule = {"rope_type": rope, "original_max_position_embeddings": 8, "rope_theta": 1e4}
    model.config.rope_parameters = {"full_attention": rule} if by_layer_type else rule
    with pytest.raises(ScoringError, match=r"packed is not right .* positions depend"):
        choose(model, make_groups(), "packed")
    assert choose(model, make_groups()).strategy.name == "single"


def test_a_wrong_strategy_is_off_by_thousands_of_times_what_rounding_is():
    """In every layer but one, and that the last of forty: on the tiny model it is seen all the same."""
    model = late_windows("qwen2")
    model.config.num_hidden_layers = 40
    model.config.layer_types = ["full_attention"] * 39 + ["sliding_attention"]
    backbone = Backbone(tiny_model(model))
    trial = Trial(backbone, OwnHead(backbone), random_groups(128, 257))
    wrong, right = trial.gap(probe.STRATEGIES[1]), trial.gap(probe.STRATEGIES[0])
    assert right.of_token < 1e-12
    assert wrong.of_token > 1e-3


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "name",
    [
        "gemma2",
        *(pytest.param(n, marks=pytest.mark.sweep) for n in ("recurrent_gemma", "falcon_h1")),
    ],
)
def test_an_unknown_change_of_logits_leaves_the_models_own_head(monkeypatch, name, dtype):
    """Small logits hardly feel a cap, and half precision hides a factor: both are looked for on large logits."""
    model = make_model(name).to(dtype)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.div_(2)
    assert choose(model, make_groups()).strategy.head.name != OwnHead.name
    monkeypatch.setattr(heads, "logit_transform", lambda _: lambda logits: logits)
    assert choose(model, make_groups()).strategy.head.name == OwnHead.name


@pytest.fixture
def asked(monkeypatch):
    """How often a strategy was tried."""
    calls = []
    gap = Trial.gap
    monkeypatch.setattr(Trial, "gap", lambda trial, kind: calls.append(kind) or gap(trial, kind))
    return calls


def test_a_verdict_is_kept_for_other_texts_and_later_runs(tmp_path, asked):
    model, groups = make_model("mpt"), make_groups()
    first = choose(model, groups, verdicts=Verdicts({"model": 1}, tmp_path))
    tried = len(asked)
    again = choose(model, make_groups(seed=0, n=2), verdicts=Verdicts({"model": 1}, tmp_path))
    assert tried
    assert len(asked) == tried
    assert (again.strategy.name, again.refused, again.probed_on) == (
        first.strategy.name,
        first.refused,
        first.probed_on,
    )
    assert again.strategy.head.name == first.strategy.head.name


def test_longer_texts_other_models_and_forced_strategies_are_tried_again(tmp_path, asked):
    model, groups = make_model("llama"), make_groups()
    verdicts = Verdicts({"model": 1}, tmp_path)
    short = [[text[:12] for text in group] for group in groups]
    for texts, forced, about in (
        (short, "", 1),
        (groups, "", 1),
        (groups, "padded", 1),
        (groups, "", 2),
    ):
        asked.clear()
        choose(model, texts, forced, Verdicts({"model": about}, tmp_path))
        assert asked
    asked.clear()
    choose(model, short, verdicts=verdicts)
    assert not asked


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"about": {}, "verdict": {}}', "foreign", "odd"]
)
def test_a_verdict_that_is_damaged_or_of_another_is_none(tmp_path, asked, damage):
    model, groups = make_model("llama"), make_groups()
    choose(model, groups, verdicts=Verdicts({"model": 1}, tmp_path))
    (file,) = tmp_path.iterdir()
    stored = json.loads(file.read_text())
    if damage == "foreign":
        stored["about"]["model"] = 2
        damage = json.dumps(stored)
    elif damage == "odd":
        stored["verdict"] |= {"strategy": "guessing", "refused": {}}
        damage = json.dumps(stored)
    file.write_text(damage)
    asked.clear()
    assert (
        choose(model, groups, verdicts=Verdicts({"model": 1}, tmp_path)).strategy.name == "packed"
    )
    assert asked


@pytest.fixture
def prepared(settings, tmp_path):
    """Has a backend look at texts, with its verdicts in a folder of the test's own."""
    settings.VAR_DIR = tmp_path / "var"

    def prepare(folder, **args):
        backend = open_backend("hf", {"pretrained": str(folder), **args})
        backend.prepare([[TokenText("item 1", ids) for ids in group] for group in make_groups()])
        return backend

    return prepare


def test_a_later_run_of_the_same_weights_finds_its_strategy_known(tmp_path, prepared, asked):
    first, other = (save_random(tmp_path / str(n), config_of("llama"), seed=n) for n in (0, 1))
    identity = prepared(first).identity()
    assert asked
    asked.clear()
    assert prepared(first).identity() == identity
    copy = shutil.copytree(first, tmp_path / "copy")
    assert prepared(copy).identity()["rung"] == identity["rung"]
    assert not asked
    for folder, args in ((other, {}), (first, {"dtype": "bfloat16"})):
        asked.clear()
        prepared(folder, **args)
        assert asked


def test_a_verdict_is_of_this_model_on_these_libraries(tmp_path, prepared):
    about = prepared(save_random(tmp_path / "m", config_of("llama"))).verdicts.about
    [file] = (tmp_path / "var" / "strategies").iterdir()
    stored = json.loads(file.read_text())["about"]
    question = {name: value for name, value in stored.items() if name not in about}
    assert Verdicts(about, file.parent).find(10, **question)
    for part in ("weights_sha256", "dtype", "attention", "libraries", "kernels", "code"):
        assert part in stored
        assert Verdicts({**about, part: "another"}, file.parent).find(10, **question) is None


@pytest.mark.parametrize("is_usable", [False, True])
def test_an_error_of_the_gpu_is_a_verdict_only_where_it_still_computes(
    tmp_path, monkeypatch, is_usable
):
    """Otherwise each strategy would fail after it, and the slowest would be taken for the only right one."""

    def fails(*_):
        raise torch.AcceleratorError("CUDA error: misaligned address\nand what to do")

    monkeypatch.setattr(Packed, "_hidden", fails)
    monkeypatch.setattr(trials, "_computes", lambda _: is_usable)
    backend = open_backend(
        "hf", {"pretrained": str(save_random(tmp_path / "m", config_of("gpt2")))}
    )
    backend.verdicts = Verdicts({"model": 1}, tmp_path / "verdicts")
    groups = [[TokenText("item 1", ids) for ids in group] for group in make_groups()]
    if is_usable:
        backend.prepare(groups)
        assert backend.choice.strategy.name == "mask"
        return
    with pytest.raises(
        ScoringError, match=r"The GPU failed: CUDA error: misaligned address\. Start"
    ):
        backend.prepare(groups)
    assert not (tmp_path / "verdicts").exists()
