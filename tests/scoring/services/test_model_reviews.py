"""A model reviews what is in review; nobody sees it before their own verdict, and it decides nothing."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from experiment.models import Item, ResearchField
from experiment.services import work
from experiment.services.curation import reviews
from lib.jobs import leases
from scoring.models import ItemScreening, ModelReview, ReviewingRun
from scoring.services import model_reviews
from scoring.services.asking.settings import Asked
from scoring.services.model_reviews import opinions
from tests.factories import make_item, make_research_field, make_user
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.commands import json_of

pytestmark = pytest.mark.django_db
SAID = json.dumps({"reasons": "The last sentence gives it away.", "verdict": "revise"})


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub(lambda request: SAID) as stub:
        yield stub


@pytest.fixture
def cooking() -> ResearchField:
    people = [make_user(name) for name in ("carl", "cora", "cleo")]
    return make_research_field("cooking", lead=make_user("lena"), curators=people)


def person(cooking: ResearchField, name: str) -> Any:
    return cooking.members.get(username=name)


def in_review(cooking: ResearchField, key: str = "onion", **fields: Any) -> Item:
    return make_item(key, field="cooking", status="in_review", subfield="", **fields)


def run_of(stub: ChatStub, cooking: ResearchField) -> ReviewingRun:
    run = model_reviews.review_run(cooking, Asked("chat", stub.args()))
    run.save()
    return run


def test_a_verdict_is_stored_for_the_text_as_it_stands_with_the_answer(
    stub: ChatStub, cooking: ResearchField
) -> None:
    item = in_review(cooking)
    run = model_reviews.run(run_of(stub, cooking))
    found = ModelReview.objects.get()
    assert (run.status, run.done) == ("finished", 1)
    assert (found.verdict, found.reasons) == ("revise", "The last sentence gives it away.")
    assert (found.sha256, found.text, found.model) == (item.sha256, SAID, "writer-2026-01")
    assert found.messages == stub.requests[0]["messages"]
    assert stub.last_words == [item.markup]
    item.refresh_from_db()
    assert item.status == "in_review"
    assert not item.reviews.exists()


@pytest.mark.parametrize("fault", ["refuses", "wrong json"])
def test_an_answer_without_a_verdict_is_kept_and_shown_to_nobody(
    stub: ChatStub, cooking: ResearchField, fault: str
) -> None:
    item = in_review(cooking, created_by=person(cooking, "carl"))
    stub.fault = fault
    assert model_reviews.run(run_of(stub, cooking)).status == "finished"
    assert ModelReview.objects.get().verdict == ""
    assert opinions(item, person(cooking, "carl")).reviews == ()
    run_of(stub, cooking)  # it may be asked again


def test_no_text_more_is_sent_once_who_asked_is_removed_from_the_field(
    stub: ChatStub, cooking: ResearchField
) -> None:
    for key in ("garlic", "leek", "onion"):
        in_review(cooking, key)
    asked = Asked("chat", stub.args())
    lead = person(cooking, "lena")
    run = model_reviews.start(model_reviews.review_run(cooking, asked), lead)

    def remove(_: ReviewingRun) -> None:
        cooking.memberships.filter(user=lead).delete()

    run = model_reviews.run(run, remove)
    assert (run.status, run.error) == ("failed", leases.NO_RIGHT)
    assert (len(stub.requests), run.reviews.count()) == (1, 1)
    again = model_reviews.run(work.retry(run, make_user("boss", is_superuser=True)))
    assert (again.status, again.reviews.count(), len(stub.requests)) == ("finished", 3, 3)


class TestWhoSeesIt:
    @pytest.fixture
    def item(self, stub: ChatStub, cooking: ResearchField) -> Item:
        item = in_review(cooking, created_by=person(cooking, "carl"))
        model_reviews.run(run_of(stub, cooking))
        ItemScreening.objects.create(
            item=item,
            sha256=item.sha256,
            model="m",
            prompt="paper",
            ppl_original=9,
            ppl_altered=8.5,
        )
        return item

    def test_its_writer_does_and_nobody_outside_the_field_nor_of_a_text_that_changed(
        self, item: Item, cooking: ResearchField
    ) -> None:
        carl = person(cooking, "carl")
        found = opinions(item, carl)
        assert [r.verdict for r in found.reviews] == ["revise"]
        assert [s.difficulty for s in found.screenings] == [-0.5]
        assert opinions(item, make_user("olga")).reviews == ()
        item.markup += " It did."
        item.save()
        found = opinions(item, carl)
        assert found == type(found)()

    @pytest.mark.parametrize("name", ["cora", "lena"])
    def test_a_reviewer_sees_it_only_after_their_own_verdict(
        self, item: Item, cooking: ResearchField, name: str
    ) -> None:
        reader, client = person(cooking, name), Client()
        client.force_login(reader)
        page = f"/lab/fields/cooking/items/{item.pk}/"
        assert opinions(item, reader) == type(opinions(item, reader))()
        assert "The last sentence gives it away." not in client.get(page).text
        reviews.review(item, reader, "accept")
        shown = client.get(page).text
        assert "The last sentence gives it away." in shown
        assert "-0.50" in shown or "−0.50" in shown  # noqa: RUF001

    def test_a_draft_that_no_person_wrote_shows_it_to_nobody_yet(
        self, stub: ChatStub, cooking: ResearchField
    ) -> None:
        item = in_review(cooking, "machine")
        model_reviews.run(run_of(stub, cooking))
        Item.objects.filter(pk=item.pk).update(status="draft")
        item.refresh_from_db()
        assert opinions(item, person(cooking, "cleo")).reviews == ()


def test_a_model_is_not_asked_again_about_a_test_case_that_it_reviewed(
    stub: ChatStub, cooking: ResearchField
) -> None:
    in_review(cooking)
    model_reviews.run(run_of(stub, cooking))
    in_review(cooking, "garlic")
    assert run_of(stub, cooking).total == 1


def test_a_run_that_fails_goes_on_without_asking_twice(
    stub: ChatStub, cooking: ResearchField
) -> None:
    for key in ("onion", "garlic", "leek"):
        in_review(cooking, key)
    run = run_of(stub, cooking)
    stub.script = ["", "401"]
    run = model_reviews.run(run)
    assert (run.status, run.done) == ("failed", 1)
    stub.script, before = [], len(stub.requests)
    assert model_reviews.run(leases.reopen(run)).status == "finished"
    assert len(stub.requests) - before == 2
    assert ModelReview.objects.count() == 3


def test_the_command_says_the_verdicts_and_what_they_took(
    stub: ChatStub, cooking: ResearchField
) -> None:
    in_review(cooking)
    model = ("--reviewer", "chat", "--model", MODEL, "--base_url", stub.url)
    (told,) = json_of("review_items", "--field", "cooking", *model, "--dry-run")["runs"]
    assert (told["requests"], stub.requests) == (1, [])
    said = json_of("review_items", "--field", "cooking", *model)
    assert said["reviews"] == [{"item": "onion", "verdict": "revise", "finish": "stop"}]
    assert said["requests"] == 1


def test_a_lead_asks_for_it_on_the_page_of_the_field(
    stub: ChatStub, cooking: ResearchField
) -> None:
    in_review(cooking)
    client = Client()
    client.force_login(person(cooking, "lena"))
    form = {
        "review-generator": "chat",
        "review-model": MODEL,
        "review-base_url": stub.url,
        "review-instructions": model_reviews.default_instructions(),
    }
    assert client.post("/lab/fields/cooking/drafting/review/", form).status_code == 302
    run = ReviewingRun.objects.get()
    assert model_reviews.run(run).status == "finished"
    assert "response_format" in stub.requests[0]
    page = client.get("/lab/fields/cooking/drafting/").text
    assert f"{MODEL}, " in page
    assert "1 answer in " in page
    assert "The last sentence gives it away." not in page
    again = client.post("/lab/fields/cooking/drafting/review/", form)
    assert again.status_code == 422
    assert "has reviewed every test case" in again.text
