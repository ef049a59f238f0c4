"""Fixtures that the tests of analysis/ share."""

import fcntl
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from analysis.data.dataset import SourceData
from analysis.data.filters import ReportOptions
from analysis.data.read import read
from experiment.models import Study
from tests.analysis import made
from tests.analysis import results_stub as stub
from tests.factories import make_study, make_user
from tests.published import imported
from tests.storages import store_files_in


@pytest.fixture(scope="session")
def reference(shared_dir: Path) -> dict[str, Any]:
    """The figures that a re-analysis of the published human-created items must give."""
    return json.loads((shared_dir / "reference/published_human_items.json").read_text())


@pytest.fixture(scope="session")
def published(
    results_dir: Path, run_folder: Path, django_db_setup: None, django_db_blocker: Any
) -> SourceData:
    """The published human-created items, imported and read once a run."""
    place = run_folder / "published-human.data"
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            with django_db_blocker.unblock(), imported(results_dir, run_folder):
                data = read(Study.objects.get(slug="brainbench"), ReportOptions())
                place.write_bytes(pickle.dumps(data["human"]))
    found: SourceData = pickle.loads(place.read_bytes())
    return found


@pytest.fixture(scope="session")
def small() -> SourceData:
    """Forty simulated people, thirty items, four models (one a chat partner, one a tuned version)."""
    return made.make_data(seed=1)


@pytest.fixture
def var_dir(settings: Any, tmp_path: Any) -> None:
    settings.VAR_DIR = tmp_path
    store_files_in(settings, tmp_path)
    settings.JOB_EXECUTOR = "inline"


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.fixture
def ruth(client: Client, study: Study) -> Client:
    client.force_login(make_user("ruth", study))
    return client


@pytest.fixture
def computed(monkeypatch: Any) -> list[ReportOptions]:
    """Reports and figures from the stub; the options they were asked for with."""
    asked: list[ReportOptions] = []

    def make_report(study: Study, options: ReportOptions, progress: Any = None) -> Any:
        asked.append(options)
        return stub.report(study, options)

    monkeypatch.setattr("analysis.report.services.make.make_report", make_report)
    monkeypatch.setattr("analysis.report.services.save.draw_all", stub.figures, raising=False)
    return asked
