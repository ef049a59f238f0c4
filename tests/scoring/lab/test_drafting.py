"""A field's pages about a model's help: abstracts come in, a worker has them drafted, people decide on what was not repaired."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from experiment.models import AuditEvent, Item, ItemScratch, ResearchField
from scoring.models import DraftingRun, GeneratedDraft
from scoring.services.drafting import runs
from tests.factories import make_research_field, make_user
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.services.drafting.abstracts import Lessons, abstract

pytestmark = pytest.mark.django_db


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub(Lessons(a1=["changed"], a2=["changed"] * 9)) as stub:
        yield stub


@pytest.fixture
def cooking() -> ResearchField:
    lead, curator = make_user("lena"), make_user("carl")
    return make_research_field("cooking", "Vegetables", lead=lead, curators=[curator])


def signed_in(name: str, cooking: ResearchField) -> Client:
    client = Client()
    client.force_login(cooking.members.get(username=name))
    return client


@pytest.fixture
def lena(cooking: ResearchField) -> Client:
    return signed_in("lena", cooking)


@pytest.fixture
def carl(cooking: ResearchField) -> Client:
    return signed_in("carl", cooking)


def asked(stub: ChatStub, **changed: Any) -> dict[str, Any]:
    return {
        "pasted": f"{abstract(1)}\r\n\r\n{abstract(2)}",
        "subfield": "Vegetables",
        "generator": "chat",
        "model": MODEL,
        "base_url": stub.url,
        "model_args": "timeout=2,retry_seconds=3,concurrency=1",
        "repairs": "1",
        "price_in": "2",
        "price_out": "10",
        **changed,
    }


def started(client: Client, stub: ChatStub, **changed: Any) -> DraftingRun:
    answer = client.post("/lab/fields/cooking/drafting/start/", asked(stub, **changed))
    assert answer.status_code == 302, answer.text
    return DraftingRun.objects.get()


def address(draft: GeneratedDraft, move: str = "") -> str:
    return f"/lab/fields/cooking/drafting/{draft.run_id}/{draft.row}/{move}"


def test_the_cost_is_told_before_the_start(stub: ChatStub, lena: Client) -> None:
    page = lena.post("/lab/fields/cooking/drafting/start/", asked(stub, forecast="count")).text
    assert "This takes 2 requests" in page
    assert "By the 2 questions that the server has counted" in page
    assert abstract(2) in page, "for the run that may follow"
    assert not DraftingRun.objects.exists()


class TestARun:
    def test_waits_for_a_worker_and_shows_what_became_of_it(
        self, stub: ChatStub, lena: Client, cooking: ResearchField
    ) -> None:
        run = started(lena, stub)
        page = lena.get(run.get_absolute_url()).text
        assert "Waiting for the worker" in page
        assert "No worker is running" in page
        assert AuditEvent.objects.filter(action="work_started").exists()
        assert runs.run(run).status == "finished"
        page = lena.get(run.get_absolute_url()).text
        assert "finished: 2 of 2 abstracts" in page
        assert "cost 0.0" in page
        assert "not repaired" in page
        item = Item.objects.get()
        link = reverse("lab:item", args=["cooking", item.pk])
        assert link in page
        assert "altered by writer-2026-01" in lena.get(link).text
        page = lena.get(f"{run.get_absolute_url()}1/").text
        assert link in page
        assert page.count("The abstract contains") == 2  # the finding, and what the model was told
        assert "1 draft of 2 abstracts" in lena.get("/lab/fields/cooking/drafting/").text

    def test_a_list_from_a_pdf_is_drafted_without_its_numbers_and_line_breaks(
        self, stub: ChatStub, lena: Client
    ) -> None:
        broken = abstract(2).replace(" ", "\n", 1)
        run = started(lena, stub, pasted=f"1. {abstract(1)}\n\n2. {broken}")
        assert [*run.drafts.values_list("abstract", flat=True)] == [abstract(1), abstract(2)]
        page = lena.get(run.get_absolute_url()).text
        assert "Abstract 1: the list number “1.” was left out." in page
        assert "Abstract 2: the list number “2.” was left out; 2 lines were joined." in page

    @pytest.mark.parametrize(
        ("changed", "words"),
        [
            ({"pasted": ""}, "Paste abstracts, or choose a file."),
            ({"pasted": "It [[rose, fell]]."}, "Abstract 1: the abstract contains [["),
            ({"generator": "hf", "model": "../secret", "base_url": ""}, "neither a folder"),
            ({"instructions": "{abstract} " * 6}, "up to 5 times"),
            ({"model_args": "<script>alert(1)</script>"}, "&lt;script&gt;"),
        ],
    )
    def test_that_cannot_be_meant_is_refused_with_the_reason(
        self, stub: ChatStub, lena: Client, changed: dict[str, str], words: str
    ) -> None:
        answer = lena.post("/lab/fields/cooking/drafting/start/", asked(stub, **changed))
        assert answer.status_code == 422
        assert words in answer.text
        assert "<script>alert" not in answer.text
        assert not DraftingRun.objects.exists()


class TestWhatWasNotRepaired:
    @pytest.fixture
    def draft(self, stub: ChatStub, lena: Client) -> GeneratedDraft:
        run = runs.run(started(lena, stub))
        return run.drafts.get(row=2)

    def test_is_opened_in_the_editor_by_a_person(
        self, draft: GeneratedDraft, carl: Client, cooking: ResearchField
    ) -> None:
        answer = carl.post(address(draft, "take/"))
        scratch = ItemScratch.objects.get()
        assert answer["Location"] == f"/lab/fields/cooking/items/new/?begun={scratch.uid}"
        page = carl.get(answer["Location"]).text
        assert "[[mellows, sharpens]]" in page
        draft.refresh_from_db()
        assert draft.state == "taken"
        assert draft.decided_by == scratch.user
        assert carl.post(address(draft, "take/"))["Location"] == address(draft)
        assert ItemScratch.objects.count() == 1


def test_hostile_answers_are_shown_as_text(
    stub: ChatStub, lena: Client, cooking: ResearchField
) -> None:
    evil = "<script>alert(1)</script>\u202e\u200b [[a<img src=x onerror=alert(1)>, b]]"
    stub.text_of = lambda request: evil
    run = runs.run(started(lena, stub))
    for draft in run.drafts.all():
        page = lena.get(address(draft)).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page
