"""`score` reads texts: windows of long ones, batches, start tokens, and arguments that say how."""

import json
import math
import shutil
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, GPT2LMHeadModel

from experiment.models import Item, Study
from scoring.domain.perplexity import zlib_bytes
from scoring.domain.prompts import Prompt
from scoring.models import ItemScore, ScoringRun
from scoring.services import token_store
from scoring.services.execute import execute
from tests.factories import make_item, make_study
from tests.scoring.commands import hf, score, score_json
from tests.scoring.made_runs import ask, scores
from tests.scoring.ngram_backend import NgramBackend
from tests.scoring.tiny_models import WINDOW

pytestmark = pytest.mark.django_db


LONG = f"In study memory {'the response rose and ' * 30}[[rose, fell again]] {'at last ' * 6}late."


@pytest.fixture
def mixed() -> Study:
    made = make_study(human=2, machine=1)
    made.study_items.create(item=make_item("memory-long", markup=LONG))
    return made


@pytest.fixture
def long(mixed: Study) -> Item:
    return mixed.items.get(key="memory-long")


class Plain:
    """The same model, one forward pass at a time, in float64."""

    def __init__(self, folder: Path) -> None:
        self.model = GPT2LMHeadModel.from_pretrained(folder).double().eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)

    def ids(self, text: str) -> list[int]:
        run = ScoringRun.objects.order_by("pk").first()
        assert run is not None
        prompted = run.prompt_text.replace("<choice abstract>", text)
        return list(self.tokenizer(prompted)["input_ids"])

    def nlls(self, ids: list[int]) -> list[float]:
        with torch.no_grad():
            logprobs = self.model(torch.tensor([ids])).logits[0, :-1].log_softmax(-1)
        return [-float(row[token]) for row, token in zip(logprobs, ids[1:], strict=True)]


def test_rolling_windows_give_what_each_window_gives_alone(
    mixed: Study, tiny: Path, long: Item
) -> None:
    window = 100
    data = score_json(*hf(tiny, max_length=window, overlong="rolling"))
    plain, row = Plain(tiny), next(r for r in data["scores"] if r["item"] == long.key)
    for version in ("original", "altered"):
        ids = plain.ids(getattr(long, version))
        assert len(ids) > 2 * window  # three windows
        expected, scored = plain.nlls(ids[:window]), window
        while scored < len(ids):
            end = min(scored + window - 1, len(ids))
            expected += plain.nlls(ids[end - window : end])[scored - end :]
            scored = end
        assert row[f"tokens_{version}"] == len(expected) == len(ids) - 1
        assert row[f"nll_{version}"] == pytest.approx(math.fsum(expected), rel=1e-5)
        mean = math.fsum(expected) / len(expected)
        assert row[f"ppl_{version}"] == pytest.approx(math.exp(mean), rel=1e-5)


def test_a_truncated_text_is_read_from_the_same_place_in_both_versions(
    mixed: Study, tiny: Path, long: Item
) -> None:
    window = 100
    data = score_json(*hf(tiny, max_length=window, overlong="truncate"))
    plain, row = Plain(tiny), next(r for r in data["scores"] if r["item"] == long.key)
    versions = {name: plain.ids(getattr(long, name)) for name in ("original", "altered")}
    left_out = max(map(len, versions.values())) - window
    for version, ids in versions.items():
        expected = plain.nlls(ids[left_out:])
        assert row[f"tokens_{version}"] == len(expected) == len(ids) - left_out - 1
        assert row[f"nll_{version}"] == pytest.approx(math.fsum(expected), rel=1e-5)
    run = ScoringRun.objects.get()
    first = token_store.read_tokens(run, long.key).to_pylist()[0]
    assert (first["position"], first["logprob"]) == (0, None)
    assert first["start"] > 0  # in characters of the text, as ever
    # What zlib makes smaller is what the perplexity counts
    kept = ItemScore.objects.get(item=long)
    assert kept.zlib_original_bytes == zlib_bytes(long.original[first["start"] :])
    whole = Prompt(run.prompt, run.prompt_text).fill(long.original)
    assert kept.zlib_original_bytes < zlib_bytes(whole)


@pytest.mark.parametrize("overlong", ["rolling", "truncate"])
def test_texts_that_fit_come_to_the_same(mixed: Study, tiny: Path, overlong: str) -> None:
    plain = score_json(*hf(tiny))["scores"]
    data = score_json(*hf(tiny, overlong=overlong))
    assert data["scores"] == plain
    assert data["conditions"]["full"]["overlong"] == overlong
    run = ScoringRun.objects.order_by("-pk").first()
    assert run is not None
    assert (run.identity["overlong"], run.identity["max_length"]) == (overlong, WINDOW)


def test_batch_size_is_so_many_times_the_longest_text(mixed: Study) -> None:
    seen: list[int | None] = []

    class Watched(NgramBackend):
        def plan(self, groups, batch_tokens):  # type: ignore[no-untyped-def]
            seen.append(batch_tokens)
            self.longest = max(len(text.ids) for group in groups for text in group)
            return super().plan(groups, batch_tokens)

    args, model = {"pretrained": "bigrams", "batch_size": "3"}, Watched()
    run = execute(ask(mixed, model_args=args, batch_tokens=None), backend=model)
    assert run.status == "finished", run.error
    assert seen == [3 * model.longest]
    by_tokens = execute(ask(mixed, batch_tokens=3 * model.longest), backend=NgramBackend())
    assert scores(run) == scores(by_tokens)


def test_a_start_token_is_read_first_where_it_is_asked_for(
    mixed: Study, tiny: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny, tmp_path / "with-start")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"bos_token": tokenizer.convert_ids_to_tokens(0)})
    tokenizer.save_pretrained(folder)
    without, with_start, neither = (
        score_json(*hf(folder, "--prompt", "none", "--output_path", tmp_path / str(n), **args))
        for n, args in enumerate(({}, {"add_bos_token": "True"}, {"add_bos_token": "false"}))
    )
    assert neither["scores"] == without["scores"]
    plain, row = Plain(folder), with_start["scores"][0]
    text = mixed.items.get(key=row["item"]).original
    nlls = plain.nlls([0, *tokenizer(text)["input_ids"]])
    assert row["tokens_original"] == len(nlls) == without["scores"][0]["tokens_original"] + 1
    assert row["nll_original"] == pytest.approx(math.fsum(nlls), rel=1e-5)
    plain_run, run = ScoringRun.objects.order_by("pk")[:2]
    assert run.identity["tokenizer_sha256"] != plain_run.identity["tokenizer_sha256"]
    (results,) = (tmp_path / "1").glob("*/results_*.json")
    assert json.loads(results.read_text())["tokenizer_bos_token"][1] == "0"


@pytest.mark.parametrize(
    ("args", "options", "part"),
    [
        ({"max_length": "1"}, (), "max_length=1: expected a whole number from 2"),
        ({"max_length": "9999"}, (), f"the model's window has {WINDOW:,} tokens"),
        ({"overlong": "fold"}, (), "overlong=fold: choose one of refuse, truncate, rolling"),
        ({"batch_size": "2"}, ("--batch_size", "3"), "differ"),
        ({"batch_size": "2"}, ("--batch_tokens", "300"), "not both"),
        ({"add_bos_token": "True"}, (), "the tokenizer does not have a start token"),
        ({"parallelize": "True", "device": "cpu"}, (), "exclude each other"),
    ],
)
def test_wrong_arguments_end_in_one_sentence(
    mixed: Study, tiny: Path, args: dict[str, str], options: tuple[str, ...], part: str
) -> None:
    out, _, error = score(*hf(tiny, *options, **args))
    assert part in str(error)
    assert len(str(error).splitlines()) == 1
    assert out == ""
    assert not ScoringRun.objects.exists()
