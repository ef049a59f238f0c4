"""Shared by the tests of services."""

from pathlib import Path

import pytest

from experiment.models import Study
from tests.factories import make_study


@pytest.fixture
def study() -> Study:
    """An open one."""
    return make_study(recruitment="open")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where an export is written."""
    return tmp_path / "trials.csv"
