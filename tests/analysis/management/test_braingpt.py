"""`braingpt`: texts to a corpus, a tokenizer, two trained models, their scores, and the chapter that compares them; real steps, few epochs."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from experiment.models import Item
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.models import Corpus, LanguageModel, ScoringRun, Training
from scoring.training.corpus.manifest import open_corpus
from tests.scoring.trainings import folders_in
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db
LORA = "demo-braingpt-lora"
# Nats per token; with this seed, 2 epochs and one thread the losses fall by 1.18 and .050
FALLS = {"demo-braingpt-scratch": 1.0, LORA: 0.03}


@pytest.fixture
def texts(settings: Any, tmp_path: Path) -> Path:
    """Texts of one's own, one of them a test case with a word changed; the site's files in the test's folder."""
    settings.VAR_DIR = tmp_path
    folders_in(settings, tmp_path)
    store_files_in(settings, tmp_path)
    call_command("load_demo", "--simulate", "0", stdout=StringIO())
    folder = tmp_path / "papers"
    folder.mkdir()
    leak = Item.objects.get(key="demo-test-07").original
    (folder / "leak.txt").write_text(f"Preprint. {leak.replace(' the ', ' our ', 1)}")
    plain = "Bees tell their sisters where flowers are by a dance on the comb, and each run of the dance points the way. "
    (folder / "own.txt").write_text(plain * 2)
    return folder


def braingpt(*options: object) -> dict[str, Any]:
    out = StringIO()
    call_command("braingpt", "--epochs", "2", "--json", *map(str, options), stdout=out, stderr=StringIO())  # fmt: skip
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


@pytest.mark.sweep
def test_the_whole_way_from_texts_to_the_chapter(texts: Path, tmp_path: Path) -> None:
    told = braingpt("--texts", texts)
    print(told)

    # The corpora hold the texts, and no test case
    for corpus in Corpus.objects.all():
        left_out = [one.of for one in open_corpus(corpus.folder).excluded()]
        assert left_out == ["demo-test-07"]
    assert Corpus.objects.count() == 2

    # What was learned shows on texts that were held out
    for one in told["trainings"]:
        assert one["before"] - one["after"] > FALLS[one["model"]], one
    models = LanguageModel.objects.filter(training__isnull=False)
    assert {model.name: model.is_demo for model in models} == dict.fromkeys(FALLS, True)

    # The adapter's pair is in the chapter of both sources, with its figure and what it did to other texts
    assert [(one["source"], one["n_items"]) for one in told["items"]] == [("human", 20), ("machine", 10)]  # fmt: skip
    assert [(one["name"], one["n_texts"]) for one in told["texts"]] == [("textbook", 14)]
    report = json.loads((tmp_path / "demo-braingpt/report/report.json").read_text())
    (pair,) = report["sources"]["human"]["finetuning"]
    assert (pair["name"], pair["base"]) == (LORA, DEMO_NAME)
    assert pair["corpora"][0]["in_training"] == "absent"
    assert all(Path(figure).is_file() for figure in told["figures"])
    assert any(figure.endswith("human_finetuning.svg") for figure in told["figures"])

    # A second run has nothing left to do, and other texts are not taken for these
    runs, trainings = ScoringRun.objects.count(), list(Training.objects.values())
    again = braingpt("--texts", texts)
    assert {name: again[name] for name in ("trainings", "items", "texts")} == {
        name: told[name] for name in ("trainings", "items", "texts")
    }
    assert ScoringRun.objects.count() == runs
    assert list(Training.objects.values()) == trainings
    (texts / "more.txt").write_text("Wasps build paper nests, " * 10)
    with pytest.raises(CommandError, match="built from other texts"):
        braingpt("--texts", texts)
