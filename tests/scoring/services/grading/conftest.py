"""A judge behind a server, and a study with questions."""

from collections.abc import Iterator

import pytest

from experiment.models import Study
from tests.scoring.backends.chat.stub import ChatStub
from tests.scoring.services.grading.judge import Judge
from tests.scoring.services.grading.rows import make_empty_study


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub(Judge()) as stub:
        yield stub


@pytest.fixture
def study() -> Study:
    return make_empty_study()
