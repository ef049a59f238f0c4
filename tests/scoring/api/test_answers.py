"""Models' answers through the API."""

from collections.abc import Iterator

import pytest

from experiment.models import Study
from scoring.models import AnsweringRun
from scoring.services import answering
from tests.api_client import Program
from tests.factories import make_user
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.services.answering.made import stored_run, study_with_questions

pytestmark = pytest.mark.django_db
ROOT = "studies/memory/"


@pytest.fixture
def study() -> Study:
    return study_with_questions(3)


@pytest.fixture
def run(study: Study) -> Iterator[AnsweringRun]:
    with ChatStub() as stub:
        stub.script = ["", "refuses", ""]
        yield answering.run(stored_run(stub, study))


@pytest.fixture
def ruth(study: Study) -> Program:
    return Program(make_user("ruth", study))


def test_answers_come_with_how_they_ended_and_what_they_took(
    ruth: Program, run: AnsweringRun
) -> None:
    rows = ruth.all_pages(ROOT + "answers/", limit=2)
    assert [(row["item_key"], row["text"], row["finish"]) for row in rows] == [
        ("memory-q001", "Yes.", "stop"),
        ("memory-q002", "", "refused"),
        ("memory-q003", "Yes.", "stop"),
    ]
    assert rows[0]["prompt_tokens"] == run.answers.get(item__key="memory-q001").prompt_tokens
    (refused,) = ruth.all_pages(ROOT + "answers/", finish="refused", run=run.pk)
    assert refused["detail"] == "I cannot help with that."
    assert ruth.all_pages(ROOT + "answers/", model="another") == []


def test_runs_tell_how_far_they_are_and_what_the_model_was_told(
    ruth: Program, run: AnsweringRun, study: Study
) -> None:
    elsewhere = study_with_questions(1, "sleep")
    AnsweringRun.objects.create(study=elsewhere, language_model=run.language_model)
    (row,) = ruth.all_pages(ROOT + "answering-runs/", model=MODEL)
    assert (row["run"], row["done"], row["total"]) == (run.pk, 3, 3)
    assert row["instructions"] == run.instructions
    assert ruth.all_pages(ROOT + "answering-runs/", status="waiting") == []
