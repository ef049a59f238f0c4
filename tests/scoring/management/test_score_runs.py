"""`score` lists runs, removes them, and takes them from the queue."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from experiment.models import Study
from lib.jobs import leases
from scoring.backends.model_files import weights_sha256
from scoring.models import LanguageModel, ScoringRun
from scoring.services.execute import execute
from scoring.services.runs import create_run
from scoring.services.summary import summarise_run
from tests.factories import make_study
from tests.scoring.commands import hf, score, score_json, sentence_of
from tests.scoring.made_runs import scores
from tests.scoring.tiny_models import save_lora
from tests.storages import records_folder

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(human=5, machine=3)


def queued(study: Study, tiny: Path, **fields: Any) -> ScoringRun:
    model, _ = LanguageModel.objects.get_or_create(name="tiny", display_name="Tiny")
    args = {"backend": "transformers", "model_args": {"pretrained": str(tiny)}}
    return create_run(study=study, language_model=model, **(args | fields))


def test_runs_are_listed_with_what_became_of_them(study: Study, tiny: Path) -> None:
    assert score("ls")[0] == "There are no runs.\n"
    first, second = queued(study, tiny), queued(study, tiny, condition="isolated")
    execute(first)
    out, _, _ = score("ls", "--study", "memory")
    _, waiting, finished = out.splitlines()
    assert waiting.split()[0] == str(second.pk)
    assert waiting.split()[-4:] == ["paper", "waiting", "0/8", "-"]
    assert finished.split()[-3:-1] == ["finished", "8/8"]
    data = json.loads(score("ls", "--json")[0])
    assert [row["run"] for row in data["runs"]] == [second.pk, first.pk]
    assert data["runs"][1]["accuracy"] == summarise_run(first).counted.accuracy.value
    make_study("other")
    assert json.loads(score("ls", "--study", "other", "--json")[0]) == {"runs": []}


def test_past_runs_that_read_an_adapter_unasked_are_listed(
    study: Study, tiny: Path, tmp_path: Path
) -> None:
    both = tmp_path / "both"
    shutil.copytree(tiny, both)
    clean, touched, changed, gone = (
        queued(study, folder) for folder in (tiny, both, both, tmp_path / "gone")
    )
    execute(clean)
    for path in save_lora(tiny, tmp_path / "adapter").glob("adapter_*"):
        shutil.copy(path, both)
    for run, weights in ((touched, weights_sha256(both, "all")), (changed, "0"), (gone, "1")):
        run.identity = {"weights_sha256": weights}
        run.save()
    rows = json.loads(score("ls", "--adapters", "--json")[0])["runs"]
    assert {row["run"]: row["adapter"].partition(":")[0] for row in rows} == {
        touched.pk: "applied",
        changed.pk: "unknown",
        gone.pk: "unknown",
    }
    assert sentence_of("ls", "--adapters", "--study", "memory") == (
        "--adapters lists runs of all studies. Leave out --study."
    )


def test_the_queue_is_scored_with_one_model_for_all_its_runs(study: Study, tiny: Path) -> None:
    direct = score_json(*hf(tiny))["scores"]
    first, second = queued(study, tiny), queued(study, tiny, condition="isolated")
    out, _, error = score("--queue")
    assert error is None
    assert [line.split()[0] for line in out.splitlines()[1:]] == [str(second.pk), str(first.pk)]
    for run in (first, second):
        run.refresh_from_db()
        assert run.status == "finished"
    by_hand = ScoringRun.objects.exclude(pk__in=[first.pk, second.pk]).get()
    assert scores(first) == scores(by_hand)
    assert len(direct) == 8
    assert score("--queue")[0] == "No run is queued.\n"


def test_a_run_of_the_queue_that_fails_does_not_keep_the_others(study: Study, tiny: Path) -> None:
    bad = queued(study, Path("no/such/model"))
    good = queued(study, tiny)
    _, _, error = score("--queue")
    assert f"run {bad.pk}" in str(error)
    bad.refresh_from_db()
    good.refresh_from_db()
    assert (bad.status, good.status) == ("failed", "finished")
    assert "no/such/model" in bad.error


def test_a_removed_run_is_gone_with_its_records(study: Study, tiny: Path) -> None:
    score_json(*hf(tiny))
    run = ScoringRun.objects.get()
    out, _, error = score("rm", run.pk)
    assert error is None
    assert out.startswith("Removed: ")
    assert not ScoringRun.objects.exists()
    assert not records_folder(run).exists()


def test_a_run_at_work_is_not_removed(study: Study, tiny: Path) -> None:
    run = queued(study, tiny)
    assert leases.take(run) is not None
    assert f"these runs are running: {run.pk}." in sentence_of("rm", run.pk)


def test_a_published_run_is_not_removed(study: Study, tiny: Path) -> None:
    run = queued(study, tiny)
    ScoringRun.objects.update(backend="imported", status="finished")
    _, _, error = score("rm", run.pk)
    assert "is a published run that was imported" in str(error)
    assert ScoringRun.objects.filter(pk=run.pk).exists()
