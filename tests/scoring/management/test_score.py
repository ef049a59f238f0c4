"""`score`: from texts to figures on one's own terminal."""

import json
import math
import re
from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, GPT2LMHeadModel

from experiment.models import Study
from scoring.demo_lm import MODEL_FOLDER
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.models import LanguageModel, ScoringRun
from tests.factories import make_study
from tests.scoring.commands import hf, score, score_json, sentence_of
from tests.scoring.tokenizers_made import save_shuffled_demo

pytestmark = pytest.mark.django_db
KEYS = "model n_items n_correct n_ties accuracy sem near_ties tokens_per_s conditions scores"
SCORE_KEYS = (
    "item unit source doi condition prompt ppl_original ppl_altered nll_original nll_altered "
    "tokens_original tokens_altered"
)


@pytest.fixture
def study() -> Study:
    return make_study(human=5, machine=3)


def test_perplexities_are_those_of_the_plain_computation_in_float64(
    study: Study, tiny: Path
) -> None:
    data = score_json(*hf(tiny))
    model = GPT2LMHeadModel.from_pretrained(tiny).double().eval()
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    row = next(row for row in data["scores"] if row["item"] == "memory-machine-2")
    item = study.items.get(key="memory-machine-2")
    run = ScoringRun.objects.get()
    for version in ("original", "altered"):
        text = run.prompt_text.replace("<choice abstract>", getattr(item, version))
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        with torch.no_grad():
            logprobs = torch.log_softmax(model(ids).logits[0, :-1], -1)
        nll = -logprobs.gather(1, ids[0, 1:, None]).sum().item()
        n = ids.shape[1] - 1
        assert row[f"tokens_{version}"] == n
        assert row[f"nll_{version}"] == pytest.approx(nll, rel=1e-5)
        assert row[f"ppl_{version}"] == pytest.approx(math.exp(nll / n), rel=1e-5)


def test_json_has_the_promised_keys_and_adds_up(study: Study, tiny: Path) -> None:
    data = score_json(*hf(tiny, "--conditions", "isolated,full,swapped", "--source", "human"))
    assert " ".join(data) == KEYS
    assert {" ".join(row) for row in data["scores"]} == {SCORE_KEYS}
    assert list(data["conditions"]) == ["isolated", "full", "swapped"]
    assert {name: data[name] for name in KEYS.split()[1:7]} == {
        name: data["conditions"]["full"][name] for name in KEYS.split()[1:7]
    }
    for condition, figures in data["conditions"].items():
        rows = [row for row in data["scores"] if row["condition"] == condition]
        right = sum(row["ppl_original"] < row["ppl_altered"] for row in rows)
        assert (figures["n_items"], figures["n_correct"]) == (len(rows), right)
        assert figures["accuracy"] == right / len(rows)
        p = right / len(rows)
        assert figures["sem"] == pytest.approx(math.sqrt(p * (1 - p) / len(rows)))
    assert {row["source"] for row in data["scores"]} == {"human"}
    assert {row["doi"] for row in data["scores"]} == {f"10.1234/memory.h{n}" for n in range(1, 6)}
    for row in data["scores"]:
        mean = row["nll_original"] / row["tokens_original"]
        assert row["ppl_original"] == pytest.approx(math.exp(mean), rel=1e-14)


def test_the_embedded_model_is_labelled_a_demonstration(study: Study) -> None:
    data = score_json("--model", "embedded", "--study", "memory", "--limit", "2")
    model = LanguageModel.objects.get()
    assert (data["model"], model.name, model.is_demo) == (DEMO_NAME, DEMO_NAME, True)
    assert data["n_items"] == 2


def test_a_lower_precision_is_warned_of(study: Study, tiny: Path) -> None:
    _, err, error = score(*hf(tiny, dtype="bfloat16"))
    assert error is None
    assert "Scored in bfloat16, in which rounding may change near-ties" in err


def test_a_prompt_of_ones_own_comes_from_the_line_or_from_a_file(
    study: Study, tiny: Path, tmp_path: Path
) -> None:
    text = "Is this so? <choice abstract>"
    file = tmp_path / "prompt.txt"
    file.write_text(text)
    from_line = score_json(*hf(tiny, "--prompt", text))
    from_file = score_json(*hf(tiny, "--prompt_file", file))
    assert {row["prompt"] for row in from_line["scores"]} == {"custom"}
    assert from_line["scores"] == from_file["scores"]


def test_resuming_what_is_finished_shows_it_again(study: Study, tiny: Path) -> None:
    before = score_json(*hf(tiny, "--conditions", "full,isolated"))
    out, err, error = score(*hf(tiny, "--conditions", "full,isolated", "--resume", "--json"))
    assert error is None
    assert "Run 1 (full) is already finished." in re.sub(r"Run \d+", "Run 1", err)
    assert json.loads(out)["scores"] == before["scores"]
    assert ScoringRun.objects.count() == 2


def test_without_resume_a_new_run_begins_and_says_so(study: Study, tiny: Path) -> None:
    score_json(*hf(tiny))
    old = ScoringRun.objects.get()
    ScoringRun.objects.update(status="cancelled", done=3)
    _, err, error = score(*hf(tiny))
    assert error is None
    assert f"Run {old.pk} with the same settings has reached 3 of 8 (cancelled); --resume" in err
    assert ScoringRun.objects.count() == 2


def test_nothing_is_stored_of_a_model_that_cannot_be_loaded(study: Study, tmp_path: Path) -> None:
    assert "no/such/model" in sentence_of(*hf(Path("no/such/model")))
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "does not contain model weights" in sentence_of(*hf(empty))
    assert not ScoringRun.objects.exists()
    assert not LanguageModel.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--study", "memory"), "Name the model"),
        (("--model", "hf", "--study", "memory"), "--model hf needs pretrained="),
        (
            ("--model", "hf", "--model_args", "pretrained", "--study", "memory"),
            "--model_args: “pretrained”",
        ),
        (("--model", "embedded", "--study", "memory", "--conditions", "half"), "choose from full"),
        (("--model", "embedded", "--study", "memory", "--prompt", "Hello"), "prompt cannot be"),
        (("rm", "77"), "there is no run 77"),
    ],
)
def test_wrong_words_are_named(study: Study, arguments: tuple[str, ...], part: str) -> None:
    assert part in sentence_of(*arguments)


SAID = "The tokenizer belongs to another model"


def test_another_models_tokenizer_is_warned_about_kept_in_the_run_and_no_reason_to_stop(
    tmp_path: Path,
) -> None:
    make_study(human=2)
    _, err, error = score(*hf(MODEL_FOLDER, tokenizer=save_shuffled_demo(tmp_path), device="cpu"))
    assert error is None
    assert SAID in err
    (sentence,) = ScoringRun.objects.get().identity["warnings"]
    assert SAID in sentence
