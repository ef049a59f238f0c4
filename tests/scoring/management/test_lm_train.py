"""The commands `tokenizer_train` and `lm_train`, from a corpus to a model that is registered."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scoring.demo_lm import NAME as DEMO_NAME
from scoring.models import Corpus, LanguageModel, Training
from tests.scoring.training.lm.made import make_corpus

pytestmark = pytest.mark.django_db
SMALL = ["--context", "32", "--epochs", "1", "--limit", "3", "--evaluations", "1"]


@pytest.fixture(autouse=True)
def corpus(settings: Any, tmp_path: Path) -> Corpus:
    settings.CORPORA_DIR = tmp_path / "corpora"
    settings.TRAININGS_DIR = tmp_path / "trainings"
    settings.MODELS_DIR = tmp_path / "models"
    built = make_corpus(tmp_path / "corpora" / "sleep")
    return Corpus.objects.create(slug="sleep", sha256=built.sha256)


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    told = run(
        "tokenizer_train", "--corpus", "sleep", "--vocabulary", 300, "--output", tmp_path / "own"
    )
    assert told["tokens"] == 300
    assert 1 < told["bytes_per_token"] < 4
    return tmp_path / "own"


def run(*arguments: object) -> dict[str, Any]:
    out = StringIO()
    call_command(*map(str, arguments), "--json", stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def lm_train(*arguments: object) -> dict[str, Any]:
    return run("lm_train", *arguments)


def test_a_dry_run_with_model_and_corpus_counts_steps_and_measures_a_batch() -> None:
    told = lm_train(
        "--mode", "lora", "--model", DEMO_NAME, "--corpus", "sleep", "--dry-run", *SMALL
    )
    assert told["amount"]["steps"] > 1
    assert told["measured"]["activation_bytes"] > 0
    assert told["hours"] > 0
    assert not Training.objects.exists()


def test_a_model_is_trained_and_registered(tokenizer: Path) -> None:
    told = lm_train("--mode", "scratch", "--tokenizer", tokenizer, "--corpus", "sleep", "--name", "Sleepy", *SMALL)  # fmt: skip
    training = Training.objects.get()
    assert (told["status"], told["training"]) == ("finished", training.pk)
    assert training.language_model == LanguageModel.objects.get(name="Sleepy")
    assert told["manifest"]["recipe"]["limit"] == 3
    steps = [point.step for point in training.points.order_by("step")]
    assert (steps[0], steps[-1]) == (0, told["manifest"]["steps"])
    assert (Path(told["output"]) / "model.safetensors").is_file()


def test_a_training_is_left_to_a_worker_and_gone_on_with_when_asked() -> None:
    asked = ("--mode", "lora", "--model", DEMO_NAME, "--corpus", "sleep", "--name", "Field", *SMALL)
    assert lm_train(*asked, "--queue")["status"] == "waiting"
    with pytest.raises(CommandError, match="--resume continues it"):
        lm_train(*asked)
    assert lm_train(*asked, "--resume")["status"] == "finished"
    assert Training.objects.count() == 1
    assert Training.objects.get().tokens > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            "--mode lora --model nowhere/at/all --dry-run",
            "nowhere/at/all: no model's configuration could be read",
        ),
        ("--mode scratch --lora-rank 4 --dry-run", "Leave out --lora-rank"),
        ("--preset gpt2-neuro --mode lora --dry-run", "does not have an adapter"),
        ("--name x", "--corpus is required"),
        ("--corpus slumber --name x", "Choose from sleep"),
        ("--corpus sleep", "--name is required"),
    ],
)
def test_impossible_arguments_are_refused_in_a_sentence(arguments: str, sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence) as refused:
        lm_train(*arguments.split())
    assert len(str(refused.value).splitlines()) == 1
    assert not Training.objects.exists()
