"""The test as tasks in which a model chooses: what is written, and what the real tools make of it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from experiment.domain.markup import parse
from experiment.models import Item, Study
from experiment.services.study_setup import pin_items
from scoring.domain.choosing.reading import read_choice
from scoring.models import ChoiceRun
from scoring.services.asking.settings import Asked
from scoring.services.choosing import runs
from scoring.services.choosing.imports import import_choices
from scoring.services.choosing.prompts import request, told
from scoring.services.choosing.summary import outcomes
from tests.conftest import ROOT
from tests.factories import make_item
from tests.scoring import tokenizers_made
from tests.scoring.commands import refusal
from tests.scoring.lm_eval import run_choice
from tests.scoring.lm_eval.conftest import MARKUPS
from tests.scoring.tiny_models import save_gpt2

pytestmark = pytest.mark.django_db
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
RUN_INSPECT = Path(__file__).with_name("run_inspect.py")  # its packages are in another Python
GOOD = '{"side": "B", "confidence": 80}'


def rows(folder: Path, name: str = "brainbench_choice") -> list[dict[str, Any]]:
    text = (folder / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("layout", ["pair", "marked"])
@pytest.mark.parametrize("prompt", ["default", "plain"])
def test_both_tools_ask_what_a_run_asks_in_both_orders(
    study: Study, tmp_path: Path, prompt: str, layout: str
) -> None:
    how = {"prompt": prompt, "layout": layout}
    call_command("export_lm_eval_task", tmp_path / "lm", method="choice", **how)
    call_command("export_inspect_task", tmp_path / "inspect", **how)
    documents, samples = rows(tmp_path / "lm"), rows(tmp_path / "inspect")
    asked = [
        (item, side) for item in study.items.filter(kind="test").order_by("key") for side in "AB"
    ]
    assert len(documents) == len(samples) == len(asked) == 2 * len(MARKUPS)
    words = told(prompt, field=study.field)
    for (item, side), document, sample in zip(asked, documents, samples, strict=True):
        abstract = parse(item.markup)
        about = sample["metadata"]
        assert (document["item"], document["version"]) == (about["item"], about["version"])
        assert (document["item"], document["order"]) == (item.key, side)
        assert (about["item"], about["order"], sample["target"]) == (item.key, side, side)
        assert document["text"] == request(words, "likelihood", layout, abstract, side)
        assert sample["input"] == request(words, "written", layout, abstract, side)
        assert document["instructions"] == about["instructions"] == words
    assert len({sample["id"] for sample in samples}) == len(samples)


def practise(study: Study) -> list[Item]:
    markups = ("It [[rained, snowed]] in May.", "The [[cats, dogs]] won.")
    items = [
        make_item(f"practice-{n}", kind="practice", markup=markup, doi=f"10.1/practice-{n}")
        for n, markup in enumerate(markups)
    ]
    pin_items(study, items)
    return items


def test_practice_items_come_first_with_their_answers(study: Study, tmp_path: Path) -> None:
    items, words = practise(study), told("default", field=study.field)
    call_command("export_lm_eval_task", tmp_path, method="choice", examples=2)
    call_command("export_inspect_task", tmp_path, examples=2, task="words")
    assert [
        (row["order"], row["text"]) for row in rows(tmp_path, "brainbench_choice_examples")
    ] == [
        (side, request(words, "likelihood", "pair", parse(item.markup), side))
        for item, side in zip(items, "BA", strict=True)
    ]
    document, sample = rows(tmp_path)[0], rows(tmp_path, "words")[0]
    assert document["examples"] == sample["metadata"]["examples"] == "practice-0\npractice-1"
    assert [turn["role"] for turn in sample["input"]] == ["user", "assistant"] * 2 + ["user"]
    assert json.loads(sample["input"][1]["content"])["side"] == "B"
    assert "3 examples were requested" in refusal("export_inspect_task", tmp_path, "--examples", 3)


def test_inspects_task_reads_answers_by_our_rules_without_this_project(
    study: Study, tmp_path: Path
) -> None:
    call_command("export_inspect_task", tmp_path, task="own-name", prompt="reasoning")
    assert {row["metadata"]["form"] for row in rows(tmp_path, "own-name")} == {"reasoned"}
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"own-name.py", "own-name.jsonl", "brainbench_reading.py"}
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import brainbench_reading; print(brainbench_reading.read_choice({GOOD!r}))"
    ran = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert ran.stdout.strip() == str(read_choice(GOOD))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--method", "choice", "--condition", "swapped"), "--condition cannot be used with"),
        (("--method", "choice", "--seed", 3), "--seed cannot be used with"),
        (("--layout", "marked"), "--layout cannot be used with"),
        (("--examples", 1), "--examples cannot be used with"),
        (("--method", "choice", "--prompt", "clean"), "no prompt “clean” for --method choice"),
        (("--method", "choice", "--prompt", "reasoning"), "no prompt “reasoning”"),
        (("--prompt", "default"), "no prompt “default” for --method perplexity"),
    ],
)
def test_an_option_of_the_other_method_is_refused(
    study: Study, tmp_path: Path, arguments: tuple[object, ...], said: str
) -> None:
    assert said in refusal("export_lm_eval_task", tmp_path / "task", *arguments)
    assert not (tmp_path / "task").exists()


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two models, of which one has a chat template."""
    folder = tmp_path_factory.mktemp("choosing")
    for name, tokenizer in (
        ("plain", tokenizers_made.llama_like()),
        ("chat", tokenizers_made.byte_level(eos_token="<end>", chat_template=TEMPLATE)),
    ):
        save_gpt2(folder / name, n_positions=4096, vocab_size=len(tokenizer))
        tokenizer.save_pretrained(folder / name)
    return folder


@pytest.mark.sweep
@pytest.mark.parametrize("n_examples", [0, 2])
def test_the_harness_chooses_as_a_run_of_ours_does(
    study: Study, models: Path, n_examples: int
) -> None:
    practise(study)
    shutil.rmtree(models / "out", ignore_errors=True)
    call_command("export_lm_eval_task", models / "task", method="choice", examples=n_examples)
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(models / "cache")}
    command = [sys.executable, run_choice.__file__, str(models)]
    done = subprocess.run(command, env=environment, cwd=models, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-9000:]
    for name in ("plain", "chat"):
        (samples,) = (models / "out" / name).rglob("samples_brainbench_choice_*.jsonl")
        theirs, _ = import_choices(study, samples, f"harness/{name}")
        asked = Asked("hf", {"pretrained": str(models / name)})
        draft = runs.choice_run(study, asked, name=name, n_examples=n_examples)
        draft.save()
        ours = runs.run(draft)
        assert (ours.status, ours.error) == ("finished", "")
        assert (theirs.form, theirs.layout) == (ours.form, ours.layout)
        assert (theirs.prompt, theirs.prompt_sha256) == (ours.prompt, ours.prompt_sha256)
        assert theirs.examples == ours.examples
        assert len(ours.examples) == n_examples
        expected = sums(ours)
        assert len(expected) == 2 * len(MARKUPS)
        for place, (a, b, side) in sums(theirs).items():
            own_a, own_b, own_side = expected[place]
            assert (a, b) == pytest.approx((own_a, own_b), rel=1e-6)
            assert side == own_side
        decisions = [one and one.points for one in outcomes(ours.choices.all()).values()]
        assert decisions == [one and one.points for one in outcomes(theirs.choices.all()).values()]


def sums(run: ChoiceRun) -> dict[tuple[int, str], tuple[float, float, str]]:
    """Item and order -> log-likelihoods of A and of B, and the side that was chosen."""
    return {
        (choice.item_id, choice.original_side): (
            choice.raw["log_likelihood"]["A"],
            choice.raw["log_likelihood"]["B"],
            choice.side,
        )
        for choice in run.choices.all()
    }


ANSWERS = (
    *([json.dumps({"side": side, "confidence": 60 + n}), "stop"] for n, side in enumerate("ABBABABBA")),
    ["<think>A or B?</think>B, 80%", "stop"],
    ["I cannot tell.", "stop"],
    ["", "content_filter"],
    [GOOD, "max_tokens"],
)  # fmt: skip


@pytest.fixture(scope="module")
def inspect_python() -> Path:
    path = Path(os.environ.get("INSPECT_PYTHON") or ROOT / "var/inspect/bin/python")
    if not path.exists() or subprocess.run([path, "-c", "import inspect_ai"]).returncode:
        pytest.skip(f"Inspect is not at {path}: `make inspect` installs it")
    return path


@pytest.mark.sweep
def test_inspect_runs_the_task_and_its_logs_are_read_back(
    study: Study, inspect_python: Path, tmp_path: Path
) -> None:
    practise(study)
    call_command("export_inspect_task", tmp_path, examples=1)
    n = 2 * 2 * len(MARKUPS)  # orders, epochs
    given = [ANSWERS[i % len(ANSWERS)] for i in range(n)]
    (tmp_path / "answers.json").write_text(json.dumps(given), encoding="utf-8")
    command = [inspect_python, RUN_INSPECT, "brainbench_choice.py", ".", "answers.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-9000:]
    logs = [*tmp_path.glob("eval/*.eval"), *tmp_path.glob("json/*.json")]
    assert len(logs) == 2
    for log, line in zip(logs, done.stdout.splitlines(), strict=True):
        run, _ = import_choices(study, log, f"mock/{log.suffix}")
        choices = list(run.choices.select_related("item"))
        assert (run.samples, run.form, run.prompt, len(choices)) == (2, "written", "default", n)
        assert len(run.examples) == 1
        theirs = json.loads(line)
        assert theirs["read"] == pytest.approx(sum(c.is_read for c in choices) / n)
        assert theirs["side_a"] == pytest.approx(sum(c.side == "A" for c in choices) / n)
        chosen = sum(c.side == c.original_side for c in choices)
        assert theirs["original"] == pytest.approx(chosen / n)
        whole = [text for text, stop in given if stop == "stop"]
        texts = sorted(c.text for c in choices if c.finish == "stop")
        assert texts == sorted(text.rpartition("</think>")[2] for text in whole)
        assert run.identity["log"]["task"] == "brainbench_choice"
