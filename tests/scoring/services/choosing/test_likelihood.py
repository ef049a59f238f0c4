"""A model in this process chooses by the likelihood of its answers: as an independent computation has it, to 1e-6."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from experiment.domain.markup import parse
from experiment.models import Study
from experiment.services.study_setup import pin_items
from lib.jobs import leases
from scoring.domain.backend import ScoringError
from scoring.models import ChoiceRun
from scoring.services.asking.settings import Asked
from scoring.services.choosing import prompts, runs
from scoring.services.choosing.summary import summarise
from tests.factories import make_item, make_study
from tests.scoring.tiny_models import save_gpt2

pytestmark = pytest.mark.django_db
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_gpt2(tmp_path_factory.mktemp("models") / "chooser", n_positions=4096)


@pytest.fixture
def study() -> Study:
    return make_study(human=2, machine=1)


def stored_run(study: Study, folder: Path, *, dtype: str = "float32", **settings: Any) -> ChoiceRun:
    asked = Asked("hf", {"pretrained": str(folder), "dtype": dtype})
    run = runs.choice_run(study, asked, **settings)
    run.save()
    return run


def computed(folder: Path, words: str, space: str) -> float:
    """Log-odds of A against B by a plain pass in float64 over each text, one after the other."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).double()
    n = len(tokenizer(words)["input_ids"])
    sums = []
    for side in "AB":
        ids = torch.tensor(tokenizer(words + space + side)["input_ids"])
        with torch.inference_mode():
            logprobs = model(ids[None]).logits[0].log_softmax(-1)
        sums.append(sum(float(logprobs[t - 1, ids[t]]) for t in range(n, len(ids))))
    return sums[0] - sums[1]


@pytest.mark.parametrize("has_template", [False, True])
def test_the_odds_are_those_of_an_independent_computation(
    study: Study, folder: Path, tmp_path: Path, has_template: bool
) -> None:
    if has_template:
        folder = save_gpt2(tmp_path / "talker", n_positions=4096)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        tokenizer.chat_template = TEMPLATE
        tokenizer.save_pretrained(folder)
    run = runs.run(stored_run(study, folder, dtype="float64", n_examples=1))
    assert (run.status, run.error, run.done) == ("finished", "", 6)
    example = parse(study.items.get(kind="practice").markup)
    for choice in run.choices.select_related("item"):
        turns = prompts.conversation(
            run, [example], parse(choice.item.markup), choice.original_side
        )
        words, space = prompts.plain_text(turns), " "
        if has_template:
            words = "".join(f"<{t.role}>{t.content}\n" for t in turns) + "<assistant>"
            space = ""
        expected = computed(folder, words, space)
        assert choice.log_odds == pytest.approx(expected, abs=1e-6)
        assert choice.side == ("A" if expected > 0 else "B")
    assert summarise(run).states == {"read": 6}


def test_a_letter_within_a_thought_is_no_answer(study: Study, tmp_path: Path) -> None:
    folder = save_gpt2(tmp_path / "thinker", n_positions=4096)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = (
        TEMPLATE + "{% if enable_thinking is not defined %}<think>\n{% endif %}"
    )
    tokenizer.save_pretrained(folder)
    run = runs.run(stored_run(study, folder))
    assert run.status == "failed"
    assert "begins with a thought" in run.error
    args = {"pretrained": str(folder), "enable_thinking": "False"}
    run = runs.choice_run(study, Asked("hf", args))
    run.save()
    assert runs.run(run).status == "finished"


def test_a_run_that_was_stopped_goes_on_to_the_same_numbers(study: Study, folder: Path) -> None:
    whole = runs.run(stored_run(study, folder))
    run = runs.run(stored_run(study, folder))
    run.choices.filter(pk__in=list(run.choices.values_list("pk", flat=True))[2:]).delete()
    ChoiceRun.objects.filter(pk=run.pk).update(status="failed", done=2)
    run = runs.run(leases.reopen(ChoiceRun.objects.get(pk=run.pk)))
    columns = ("item", "original_side", "log_odds")
    assert sorted(run.choices.values_list(*columns)) == sorted(whole.choices.values_list(*columns))


def test_a_text_beyond_the_window_is_too_long_and_the_rest_goes_on(folder: Path) -> None:
    study = make_study(human=1, machine=1)
    pin_items(
        study, [make_item("long", markup="word " * 3900 + "[[rose, fell]].", doi="10.1/long")]
    )
    run = runs.run(stored_run(study, folder))
    assert (run.status, run.done) == ("finished", 6)
    found = summarise(run)
    assert found.states == {"read": 4, "too_long": 2}
    assert (found.n_judged, found.n_items) == (2, 3)


@pytest.mark.parametrize(
    ("kind", "args", "asked", "why"),
    [
        ("hf", {"pretrained": "x"}, {"samples": 3}, "does not need samples"),
        ("embedded", {}, {"prompt": "reasoning"}, "does not write answers"),
        ("hf", {"pretrained": "x", "colour": "red"}, {}, "colour is not known"),
        ("hf", {"pretrained": "x", "overlong": "rolling"}, {}, "reads both versions whole"),
    ],
)
def test_settings_that_a_likelihood_does_not_have_are_refused(
    study: Study, kind: str, args: dict[str, str], asked: dict[str, Any], why: str
) -> None:
    with pytest.raises(ScoringError, match=why):
        runs.choice_run(study, Asked(kind, args), **asked)
