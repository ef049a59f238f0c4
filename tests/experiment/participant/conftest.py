"""What the tests of participants' pages share."""

import pytest

from experiment.models import Study


@pytest.fixture
def study(open_study: Study) -> Study:
    return open_study
