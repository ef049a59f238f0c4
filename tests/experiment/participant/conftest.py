"""Shared by the tests of participants' pages."""

import pytest
from django.utils import timezone

from experiment.models import Study
from experiment.services import arrivals
from tests.experiment.clocked import Clock
from tests.factories import make_study


@pytest.fixture
def study(open_study: Study) -> Study:
    return open_study


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    # All that is counted by ten minutes of the clock begins with them
    found = Clock(arrivals._window(timezone.now()))
    monkeypatch.setattr(timezone, "now", found)
    return found


@pytest.fixture
def short(db: None) -> Study:
    """A study of three trials, without catch trials."""
    return make_study(
        recruitment="open", human_items=2, machine_items=1, catch_items=0, human=8, machine=4
    )
