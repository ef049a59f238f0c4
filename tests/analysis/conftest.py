"""What the tests of analysis/ share."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from analysis.data.dataset import SourceData
from analysis.data.filters import ReportOptions
from experiment.models import Study
from tests.analysis import made, published_files
from tests.analysis import results_stub as stub
from tests.factories import make_study, make_user
from tests.storages import store_files_in


@pytest.fixture(scope="session")
def reference(shared_dir: Path) -> dict[str, Any]:
    """The figures that a re-analysis of the published human-created items must give."""
    return json.loads((shared_dir / "reference/published_human_items.json").read_text())


@pytest.fixture(scope="session")
def published(shared_dir: Path) -> SourceData:
    return published_files.read(shared_dir)


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
