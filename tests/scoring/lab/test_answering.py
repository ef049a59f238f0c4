"""A study's pages of models' answers: one is asked for, watched, stopped and read."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from experiment.models import AuditEvent, Study
from scoring.models import AnsweringRun
from scoring.services import answering
from tests.factories import make_user
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.services.answering.made import stored_run, study_with_questions

pytestmark = pytest.mark.django_db
PAGE = "/lab/studies/memory/answering/"


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub(lambda request: f"Of {request['messages'][-1]['content'][-5:]}") as stub:
        yield stub


@pytest.fixture
def study() -> Study:
    return study_with_questions(4)


@pytest.fixture
def ruth(study: Study) -> Client:
    client = Client()
    client.force_login(make_user("ruth", study))
    return client


def asked(stub: ChatStub, **changed: Any) -> dict[str, Any]:
    return {
        "generator": "chat",
        "model": MODEL,
        "base_url": stub.url,
        "model_args": "timeout=2,concurrency=1,tries=1",
        "price_in": "2",
        "price_out": "10",
        **changed,
    }


def started(client: Client, stub: ChatStub, **changed: Any) -> AnsweringRun:
    answer = client.post(f"{PAGE}start/", asked(stub, **changed))
    assert answer.status_code == 302, answer.text
    return AnsweringRun.objects.latest("pk")


def test_the_cost_is_told_before_the_start(stub: ChatStub, ruth: Client) -> None:
    sent = asked(stub, asks_confidence="on", forecast="count")
    page = ruth.post(f"{PAGE}start/", sent).text
    assert "This takes 8 requests" in page, "each question and the confidence in its answer"
    assert "By the 4 questions that the server has counted" in page
    assert "at a cost of about" in page
    assert len(stub.requests) == 8
    assert not AnsweringRun.objects.exists()


class TestARun:
    def test_waits_for_a_worker_and_shows_what_came(self, stub: ChatStub, ruth: Client) -> None:
        stub.script = ["", "refuses", "500", ""]
        run = started(ruth, stub, name="lab/writer", instructions="You know {field}.")
        page = ruth.get(run.get_absolute_url()).text
        assert "Waiting for the worker" in page
        assert AuditEvent.objects.filter(action="work_started").exists()
        assert answering.run(run).status == "finished"
        page = ruth.get(run.get_absolute_url()).text
        assert "finished: 4 of 4 questions" in page
        assert "I cannot help with that." in page
        assert "Which gene is behind memory-q001?" in page
        assert "Gene MEMORY-Q001 is." in page
        assert "Repeat the failed requests" in page
        assert "You know" in page
        assert "writer" in ruth.get(PAGE).text

    @pytest.mark.parametrize(
        ("changed", "words"),
        [
            ({"base_url": "", "model": " "}, "needs: Address of the server, Model."),
            ({"generator": "hf", "model": "../secret", "base_url": ""}, "neither a folder"),
        ],
    )
    def test_that_cannot_be_meant_is_refused_with_the_reason(
        self, stub: ChatStub, ruth: Client, changed: dict[str, str], words: str
    ) -> None:
        answer = ruth.post(f"{PAGE}start/", asked(stub, **changed))
        assert (answer.status_code, words in answer.text) == (422, True)
        assert not AnsweringRun.objects.exists()


class TestTheAnswers:
    @pytest.fixture
    def run(self, stub: ChatStub, study: Study) -> AnsweringRun:
        stub.script = ["", "filtered", "", ""]
        prices: dict[str, Any] = {"prompt_price": Decimal(2), "completion_price": Decimal(10)}
        return answering.run(stored_run(stub, study, **prices))

    @pytest.mark.parametrize(
        ("query", "keys"),
        [
            ("", {"q001", "q002", "q003", "q004"}),
            ("?end=filtered", {"q002"}),
            ("?words=Q003", {"q003"}),
            ("?words=behind&end=stop", {"q001", "q003", "q004"}),
            ("?words=nowhere", set()),
            ("?end=unknown", set()),
            ("?page=99", {"q001", "q002", "q003", "q004"}),
        ],
    )
    def test_are_narrowed_by_state_and_words(
        self, run: AnsweringRun, ruth: Client, query: str, keys: set[str]
    ) -> None:
        page = ruth.get(run.get_absolute_url() + query)
        found = {answer.item.key.removeprefix("memory-") for answer, _ in page.context["answers"]}
        assert found == keys

    def test_that_are_hostile_are_shown_as_text(
        self, run: AnsweringRun, ruth: Client, stub: ChatStub, study: Study
    ) -> None:
        hostile = "<script>alert(1)</script>\u202e<img src=x>"
        stub.text_of = lambda request: f"<think>{hostile}</think>{hostile}"
        run = answering.run(stored_run(stub, study, instructions="<script>alert(2)</script>"))
        page = ruth.get(run.get_absolute_url()).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page

    def test_that_are_none_are_warned_of_and_their_thoughts_shown_apart(
        self, ruth: Client, stub: ChatStub, study: Study
    ) -> None:
        stub.script = ["thinks too long", "thinks apart"]
        run = answering.run(stored_run(stub, study))
        page = ruth.get(run.get_absolute_url())
        assert "1 of 4 texts (25.0%) could not be read" in page.text
        shown = {end: answer.thought for answer, end in page.context["answers"] if answer.thought}
        assert shown == {"reasoning cut off": "Is it", "answered": "Is it?"}
        assert page.text.count("not graded") == 2
