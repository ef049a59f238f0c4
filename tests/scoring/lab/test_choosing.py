"""A study's pages of models that choose: a model is asked there, watched, stopped, and its choices are read and exported."""

import csv
import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client

from experiment.models import Study
from scoring.models import ChoiceRun, LanguageModel
from scoring.services.choosing import runs
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.sheets import xlsx

pytestmark = pytest.mark.django_db
PAGE = "/lab/studies/memory/choices/"


def content(answer: Any) -> str:
    return (b"".join(answer.streaming_content) if answer.streaming else answer.content).decode()


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub(lambda request: '{"side": "B", "confidence": 60}') as stub:
        yield stub


@pytest.fixture
def form(stub: ChatStub) -> dict[str, Any]:
    args = "tries=1,concurrency=1"
    about = {"generator": "chat", "model": MODEL, "base_url": stub.url, "model_args": args}
    return about | {"prompt": "default", "layout": "pair", "limit": "2"}


def test_a_model_is_asked_and_its_choices_are_shown_and_exported(
    ruth: Client, study: Study, form: dict[str, Any], stub: ChatStub
) -> None:
    answer = ruth.post(f"{PAGE}start/", form)
    run = ChoiceRun.objects.get()
    assert answer.headers["Location"] == run.get_absolute_url()
    assert run.status == "waiting"
    runs.run(run)
    page = content(ruth.get(run.get_absolute_url()))
    assert "50.0% of 2 judged test cases" in " ".join(page.split())
    assert "memory-human-1" in page
    assert "50.0%" in content(ruth.get(PAGE))
    wrong = content(ruth.get(run.get_absolute_url(), {"which": "wrong"}))
    assert "2 answers" in wrong
    sent = ruth.get(f"{PAGE}{run.pk}/choices.csv")
    rows = list(csv.DictReader(StringIO(content(sent))))
    assert [(row["original_side"], row["side"], row["stated_confidence"]) for row in rows] == [
        ("A", "B", "60.0"),
        ("B", "B", "60.0"),
    ] * 2


def test_a_forecast_asks_nothing(
    ruth: Client, study: Study, form: dict[str, Any], stub: ChatStub
) -> None:
    prices = {"price_in": "1", "price_out": "1"}
    page = content(ruth.post(f"{PAGE}start/", form | prices | {"forecast": "1"}))
    assert "This takes 4 requests" in page
    assert not ChoiceRun.objects.exists()
    assert not LanguageModel.objects.exists()
    assert stub.requests == []


def test_a_forecast_may_ask_five_questions_to_count_tokens(
    ruth: Client, study: Study, form: dict[str, Any], stub: ChatStub
) -> None:
    prices = {"price_in": "1", "price_out": "1"}
    page = content(ruth.post(f"{PAGE}start/", form | prices | {"forecast": "count"}))
    assert "By the 4 questions that the server has counted" in " ".join(page.split())
    assert len(stub.requests) == 4  # as many as there are
    assert not ChoiceRun.objects.exists()


def upload(ruth: Client, name: str, data: bytes, sheet: str = "") -> HttpResponse:
    about = {"import-file": SimpleUploadedFile(name, data), "import-sheet": sheet}
    return ruth.post(f"{PAGE}upload/", about | {"import-name": "lab/elsewhere"})


def test_the_page_reads_the_sheet_that_is_named(ruth: Client, study: Study) -> None:
    table = [("item", "order", "side"), ("memory-human-1", "A", "A")]
    data = xlsx({"May": table, "June": table})
    refused = upload(ruth, "choices.xlsx", data)
    assert refused.status_code == 422
    assert "Several sheets could be the table: “May”, “June”" in content(refused)
    upload(ruth, "choices.xlsx", data, "June")
    assert ChoiceRun.objects.get().identity["sheet"] == "June"


def test_choices_made_elsewhere_are_uploaded_whole_or_not_at_all(
    ruth: Client, study: Study
) -> None:
    def send(*lines: str) -> HttpResponse:
        return upload(ruth, "choices.jsonl", "\n".join(lines).encode())

    lines = [json.dumps({"item": "memory-human-1", "order": order, "side": "A"}) for order in "AB"]
    refused = send(*lines, '{"item": "memory-human-1", "order": "A", "side": "C"}')
    assert refused.status_code == 422
    assert "choices.jsonl, line 3" in content(refused)
    assert not ChoiceRun.objects.exists()
    sent = send(*lines)
    run = ChoiceRun.objects.get()
    assert sent.headers["Location"] == run.get_absolute_url()
    assert (run.generator, run.created_by.username, run.done) == ("imported", "ruth", 2)
    assert "lab/elsewhere" in str(run.language_model.name)
    assert content(ruth.get(run.get_absolute_url()))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"model_args": "colour=red"}, "colour"),
        ({"base_url": ""}, "Address of the server"),
        ({"base_url": "http://10.0.0.1"}, "10.0.0.1"),
        ({"prompt": "custom", "own_prompt": "Choose."}, "{versions}"),
        (
            {"generator": "embedded", "prompt": "reasoning", "model_args": ""},
            "does not write answers",
        ),
        ({"samples": "0"}, "greater than or equal to 1"),
    ],
)
def test_invalid_values_are_explained_beside_the_form(
    ruth: Client, study: Study, form: dict[str, Any], changed: dict[str, str], why: str
) -> None:
    page = content(ruth.post(f"{PAGE}start/", form | changed))
    assert why in page
    assert not ChoiceRun.objects.exists()


def test_a_model_that_accepts_no_temperature_is_asked_at_the_servers_own(
    ruth: Client, study: Study, form: dict[str, Any], stub: ChatStub
) -> None:
    stub.fault = "refuses temperature"
    ruth.post(f"{PAGE}start/", form)
    refused = runs.run(ChoiceRun.objects.get())
    assert (refused.status, len(stub.requests)) == ("failed", 1)
    assert "temperature=none" in content(ruth.get(refused.get_absolute_url()))
    ruth.post(f"{PAGE}start/", {**form, "temperature": "none", "limit": "1"})
    run = runs.run(ChoiceRun.objects.latest("pk"))
    assert (run.status, run.samples, run.done) == ("finished", 5, 10)
