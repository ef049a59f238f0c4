"""The API answers any request as its description says, and never fails."""

from typing import Any

import pytest

from benchmarks.trust.fuzz import api
from tests.api_client import Program
from tests.factories import make_participant, make_study, make_user
from tests.scoring.lab.rows import ask, finish
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db
EXAMPLES = 12  # of each operation
OPERATIONS = api.operations()


@pytest.fixture
def token(settings: Any, tmp_path: Any) -> str:
    """The token of a researcher of a study with people and a scored model."""
    store_files_in(settings, tmp_path)
    settings.JOB_EXECUTOR = "celery"  # nothing is computed here
    settings.ALLOWED_HOSTS = ["*"]
    study = make_study(human=2, machine=1, catch=1, human_items=2, machine_items=1, catch_items=1)
    make_participant(study)
    make_participant(study, judged=1)
    finish(ask(study), right=2)
    return Program(make_user("ruth", study)).secret


KNOWN = {"slug": "memory", "pk": "1"}


@pytest.mark.parametrize("label", OPERATIONS)
def test_no_request_fails_and_every_answer_is_as_described(token: str, label: str) -> None:
    assert api.fuzz(OPERATIONS[label], KNOWN, [token] * 3, EXAMPLES, 14)
