"""From abstracts to drafts by way of a stub of a server."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from experiment.models import Item, ResearchField
from lib.jobs import leases
from scoring.domain.backend import ScoringError
from scoring.models import DraftingRun, GeneratedDraft
from scoring.services.asking.settings import Asked
from scoring.services.drafting import runs
from scoring.services.drafting.sources import SourceAbstract, of_fetched
from scoring.training.corpus.document import Document, write_documents
from tests.factories import make_research_field
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.services.drafting.abstracts import Lessons, abstract, right

pytestmark = pytest.mark.django_db
ABSTRACT = Document("pmid:1", "BACKGROUND: Mice sleep.\nRESULTS: Much.", doi="10.1000/a", published="2019-03-07", kind="abstract")  # fmt: skip


@pytest.fixture
def sleep() -> ResearchField:
    return make_research_field("sleep", "Mice")


def test_the_first_abstracts_of_a_folder_are_taken_in_the_order_of_its_files(
    sleep: ResearchField, tmp_path: Path
) -> None:
    for name in ("2019-03", "2019-04"):
        (tmp_path / "j").mkdir(exist_ok=True)
        write_documents(
            tmp_path / "j" / f"{name}.jsonl", [ABSTRACT, replace(ABSTRACT, published=name)]
        )
    (tmp_path / "j" / ".state.json").write_text("{}")
    whole = SourceAbstract(1, "BACKGROUND: Mice sleep. RESULTS: Much.", "10.1000/a", "", date(2019, 3, 7))  # fmt: skip
    assert of_fetched(tmp_path, sleep, limit=2) == [
        whole,
        replace(whole, row=2, publication_date=None),
    ]
    assert len(of_fetched(tmp_path, sleep)) == 4


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            '{"id": "pmcid:PMC1", "text": "All.", "kind": "fulltext"}',
            "pmcid:PMC1 is not an abstract",
        ),
        ('{"id": 1}', "line 1: not a document"),
        ("", "There are 0 abstracts"),
    ],
)
def test_a_document_that_is_no_abstract_is_refused(
    sleep: ResearchField, tmp_path: Path, line: str, expected: str
) -> None:
    path = tmp_path / "fetched.jsonl"
    path.write_text(line)
    with pytest.raises(ValidationError, match=expected):
        of_fetched(path, sleep)


PRICES = {"prompt_price": Decimal("2"), "completion_price": Decimal("10")}


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub(Lessons()) as stub:
        yield stub


@pytest.fixture
def cooking() -> ResearchField:
    return make_research_field("cooking", "Vegetables")


def run_of(
    stub: ChatStub,
    cooking: ResearchField,
    n: int = 1,
    told: str = "",
    repairs: int = 3,
    **costs: Any,
) -> DraftingRun:
    abstracts = [
        SourceAbstract(row, abstract(row), f"10.1234/onion.{row}", "Vegetables")
        for row in range(1, n + 1)
    ]
    asked = Asked("chat", stub.args(max_tokens="500"), **costs)
    draft = runs.draft_run(cooking, abstracts, asked, instructions=told, repairs=repairs)
    return runs.store(draft, abstracts)


def only(run: DraftingRun) -> GeneratedDraft:
    return run.drafts.get()


def codes(draft: GeneratedDraft) -> list[list[str]]:
    return [[finding.code for finding in a.findings] for a in draft.attempts.all()]


class TestAGoodAnswer:
    def test_becomes_a_draft_with_all_that_made_it(
        self, stub: ChatStub, cooking: ResearchField
    ) -> None:
        run = runs.run(run_of(stub, cooking, **PRICES))
        draft = only(run)
        item = draft.item
        assert (run.status, run.done, run.error) == ("finished", 1, "")
        assert draft.state == "drafted"
        assert item is not None
        assert (item.status, item.source, item.generator) == ("draft", "machine", "writer-2026-01")
        assert (item.field, item.subfield, item.doi) == ("cooking", "Vegetables", "10.1234/onion.1")
        assert item.markup == right(1)
        assert item.original == abstract(1)
        assert item.created_by is None  # nobody wrote it: whoever asked may review it
        attempt = draft.attempts.get()
        assert attempt.text == Lessons()(stub.requests[0])
        assert attempt.request["model"] == MODEL
        assert attempt.messages == stub.requests[0]["messages"]
        spending = runs.spent(run)
        assert spending.usage.prompt_tokens == attempt.prompt_tokens
        assert spending.cost == cost_of(attempt.prompt_tokens, attempt.completion_tokens)

    def test_was_asked_for_with_the_purpose_two_examples_and_a_schema(
        self, stub: ChatStub, cooking: ResearchField
    ) -> None:
        cooking.subfields.update(purpose="Which steps change the taste.")
        runs.run(run_of(stub, cooking))
        system, user = stub.requests[0]["messages"]
        assert "Which steps change the taste." in system["content"]
        assert system["content"].count("[[") >= 4  # of two examples, and of the rules
        assert "{" not in system["content"]
        assert user["content"] == abstract(1)
        schema = stub.requests[0]["response_format"]["json_schema"]["schema"]
        assert schema["required"] == ["markup"]


def cost_of(read: int | None, written: int | None) -> Decimal:
    return (2 * Decimal(read or 0) + 10 * Decimal(written or 0)) / 1_000_000


class TestRepairs:
    def test_each_fault_is_told_to_the_model_until_its_text_is_right(
        self, stub: ChatStub, cooking: ResearchField
    ) -> None:
        stub.text_of = Lessons(a1=["wrong json", "changed", "unbalanced"])
        draft = only(runs.run(run_of(stub, cooking)))
        assert draft.state == "drafted"
        found = codes(draft)
        assert found[0] == ["no_text"]
        assert "changed_abstract" in found[1]
        assert "markup" in found[2]
        assert len(found) == len(stub.requests) == 4
        told = stub.last_words
        assert "holds no abstract" in told[1]
        assert "in a trained panel" in told[2]
        assert "line 1, column" in told[3]
        roles = [message["role"] for message in stub.requests[3]["messages"]]
        assert roles == ["system", "user", *["assistant", "user"] * 3]

    def test_a_thought_is_neither_a_text_nor_told_to_the_model_again(
        self, stub: ChatStub, cooking: ResearchField
    ) -> None:
        lessons = Lessons(a1=["changed"])
        stub.text_of = lambda request: f"<think>[[hot, cold]]?</think>{lessons(request)}"
        draft = only(runs.run(run_of(stub, cooking)))
        assert draft.state == "drafted"
        assert "hot" not in draft.markup
        assert "[[hot" not in str(stub.requests)
        assert {attempt.thought for attempt in draft.attempts.all()} == {"[[hot, cold]]?"}

    def test_that_come_to_nothing_keep_the_text_and_its_reasons_for_a_person(
        self, stub: ChatStub, cooking: ResearchField
    ) -> None:
        stub.text_of = Lessons(a1=["changed"] * 9)
        draft = only(runs.run(run_of(stub, cooking, repairs=2)))
        assert draft.state == "unrepaired"
        assert draft.item is None
        assert "[[fell, rose]]" in draft.markup
        assert len(stub.requests) == 3
        assert not Item.objects.exists()


def test_a_model_that_declines_is_not_argued_with(stub: ChatStub, cooking: ResearchField) -> None:
    stub.script = ["refuses"]
    run = runs.run(run_of(stub, cooking, 2))
    first, second = run.drafts.all()
    assert (run.status, first.state, second.state) == ("finished", "declined", "drafted")
    attempt = first.attempts.get()
    assert (attempt.finish, attempt.detail) == ("refused", "I cannot help with that.")
    assert len(stub.requests) == 2


def test_a_server_that_fails_ends_the_run_and_it_goes_on_where_it_was(
    stub: ChatStub, cooking: ResearchField
) -> None:
    run = run_of(stub, cooking, 3)
    stub.script = ["", "401"]
    run = runs.run(run)
    assert (run.status, run.done) == ("failed", 1)
    assert run.error.endswith(".")
    assert Item.objects.filter(status="draft").count() == 1
    stub.script, before = [], len(stub.requests)
    run = runs.run(leases.reopen(run))
    assert (run.status, run.done) == ("finished", 3)
    assert len(stub.requests) - before == 2


def test_several_abstracts_are_under_way_at_a_time(stub: ChatStub, cooking: ResearchField) -> None:
    run = run_of(stub, cooking, 8)
    run.model_args["concurrency"] = "4"
    run.save()
    stub.delay_s = 0.2
    stub.text_of = Lessons(a3=["changed"], a5=["wrong json", "changed"])
    run = runs.run(run)
    assert (run.status, run.done) == ("finished", 8)
    assert stub.most_at_once == 4
    assert sorted(run.drafts.values_list("item__markup", flat=True)) == sorted(
        right(n) for n in range(1, 9)
    )
    assert [d.attempts.count() for d in run.drafts.all()] == [1, 1, 2, 1, 3, 1, 1, 1]


class TestABudget:
    def test_in_money_goes_on_once_it_is_raised(
        self, stub: ChatStub, cooking: ResearchField
    ) -> None:
        run = runs.run(run_of(stub, cooking, 4, budget_money=Decimal("0.012"), **PRICES))
        assert run.status == "cancelled"
        assert f"Abstracts left: {4 - run.done}." in run.error
        spent = runs.spent(run).cost
        assert spent is not None
        assert spent <= Decimal("0.012")
        run.budget_money = Decimal(5)
        run.save()
        assert runs.run(leases.reopen(run)).done == 4
        assert len(stub.requests) == 4

    def test_cannot_be_kept_where_the_server_says_no_usage(
        self, stub: ChatStub, cooking: ResearchField
    ) -> None:
        stub.says_usage = False
        run = runs.run(run_of(stub, cooking, 3, budget_tokens=100_000))
        assert (run.status, len(stub.requests)) == ("failed", 1)
        assert "a budget is not possible" in run.error
        assert runs.spent(run_of(stub, cooking)).unknown == 0


class TestInstructionsOfALab:
    def test_are_sent_as_they_are_with_their_places_filled_in(
        self, stub: ChatStub, cooking: ResearchField
    ) -> None:
        told = "Alter this {subfield} abstract, keep {this}:\n{abstract}"
        stub.text_of = Lessons(a1=["prose"])
        run = runs.run(run_of(stub, cooking, told=told))
        assert only(run).state == "drafted"
        (turn,) = stub.requests[0]["messages"]
        assert turn["content"] == f"Alter this Vegetables abstract, keep {{this}}:\n{abstract(1)}"
        assert "response_format" not in stub.requests[0]
        assert run.instructions == told


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Asked("chat", {"base_url": "http://192.0.2.7", "model": "m"}), "Texts may not be sent to"),
        (
            Asked("chat", {"base_url": "http://localhost", "model": "m", "temperature": "hot"}),
            "temperature='hot' cannot be used",
        ),
        (Asked("embedded", {}, budget_money=Decimal(1)), "needs the prices"),
        (Asked("embedded", {}, prompt_price=Decimal(1)), "Give both prices"),
    ],
)
def test_impossible_requests_are_refused_before_anything_is_stored(
    cooking: ResearchField, asked: Asked, words: str
) -> None:
    source: Sequence[SourceAbstract] = [SourceAbstract(1, abstract(1))]
    with pytest.raises(ScoringError, match=words):
        runs.draft_run(cooking, source, asked)
