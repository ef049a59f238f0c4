"""A version's way from draft to its end, and who may take which step."""

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from experiment.domain.item_life import Move, moves
from experiment.models import AuditEvent, Item
from experiment.services.curation import reviews, writing
from experiment.services.curation.reviews import open_moves, writers_of
from tests.factories import (
    accepted,
    make_item,
    make_research_field,
    make_study,
    make_user,
    sound_text,
)

pytestmark = pytest.mark.django_db
TEXT = sound_text()


class Kitchen:
    """A field with a lead and three curators; Ada has written a draft."""

    def __init__(self) -> None:
        self.lead, self.ada, self.ben, self.cleo = map(make_user, ("lead", "ada", "ben", "cleo"))
        curators = (self.ada, self.ben, self.cleo)
        self.field = make_research_field(lead=self.lead, curators=curators)
        self.draft = writing.create_draft(self.field, TEXT, by=self.ada)


@pytest.fixture
def kitchen() -> Kitchen:
    return Kitchen()


def last(item: Item) -> tuple[str, str, str]:
    change = item.changes.last()
    assert change is not None
    return change.before.get("status", ""), change.after.get("status", ""), change.reason


def test_a_draft_goes_to_review_and_back_with_a_reason(kitchen: Kitchen) -> None:
    item = reviews.submit(kitchen.draft, kitchen.ada)
    assert (item.status, last(item)) == ("in_review", ("draft", "in_review", ""))
    with pytest.raises(ValidationError, match="eason"):
        reviews.back_to_draft(item, kitchen.ada, "  ")
    item = reviews.back_to_draft(item, kitchen.ada, " One word is wrong. ")
    assert (item.status, last(item)) == ("draft", ("in_review", "draft", "One word is wrong."))


def test_only_writers_and_leads_take_a_test_case_back(kitchen: Kitchen) -> None:
    item = reviews.submit(kitchen.draft, kitchen.ben)
    with pytest.raises(ValidationError, match="now “in review”"):
        reviews.back_to_draft(item, kitchen.ben, "no")
    assert reviews.back_to_draft(item, kitchen.lead, "mine").status == "draft"


def test_a_stranger_takes_no_step(kitchen: Kitchen) -> None:
    stranger = make_user("stranger")
    assert open_moves(kitchen.draft, kitchen.field, stranger) == frozenset()
    with pytest.raises(ValidationError):
        reviews.submit(kitchen.draft, stranger)


WRITER, OTHER = {"is_writer": True}, {"is_writer": False}


@pytest.mark.parametrize(
    ("status", "who", "reviews_needed", "steps"),
    [
        ("draft", WRITER, 2, {Move.SUBMIT}),
        ("draft", OTHER, 0, {Move.SUBMIT}),
        ("in_review", WRITER, 2, {Move.BACK}),
        ("in_review", WRITER, 1, {Move.BACK}),
        ("in_review", WRITER, 0, {Move.BACK, Move.ACCEPT}),
        ("in_review", OTHER, 2, {Move.REVIEW}),
        ("in_review", OTHER, 0, {Move.REVIEW}),
        ("accepted", WRITER, 0, {Move.REVISE}),
        ("accepted", OTHER, 2, {Move.REVISE}),
        ("retired", WRITER, 2, {Move.REVISE}),
    ],
)
def test_each_state_has_its_steps_and_a_lead_some_more(
    status: str, who: dict[str, bool], reviews_needed: int, steps: set[Move]
) -> None:
    assert moves(status, **who, is_lead=False, reviews_needed=reviews_needed) == steps
    more = {Move.RETIRE} if status != "retired" else set()
    more |= {Move.BACK} if status == "in_review" else set()
    assert moves(status, **who, is_lead=True, reviews_needed=reviews_needed) == steps | more


def test_anyone_takes_back_a_test_case_that_nobody_here_wrote(kitchen: Kitchen) -> None:
    item = make_item(field="cooking", status="in_review")
    assert not writers_of(item).exists()
    assert Move.BACK in open_moves(item, kitchen.field, kitchen.ben)


def test_only_a_lead_retires_and_says_why(kitchen: Kitchen) -> None:
    item = make_item(field="cooking")
    study = make_study("running", recruitment="open")
    study.study_items.create(item=item)
    make_study("over", recruitment="closed").study_items.create(item=item)
    assert list(reviews.studies_drawing(item)) == [study]
    with pytest.raises(ValidationError, match="now “accepted”"):
        reviews.retire(item, kitchen.ada, "leaky")
    with pytest.raises(ValidationError, match="eason"):
        reviews.retire(item, kitchen.lead, "")
    [retired] = reviews.retire(item, kitchen.lead, "It gives itself away.")
    assert (retired.status, last(retired)[2]) == ("retired", "It gives itself away.")
    assert study.items.filter(pk=item.pk).exists()
    event = AuditEvent.objects.get(action="item_retired", study="")
    assert (event.actor, event.details["item"], event.reason) == (
        "lead",
        "item-1 v1",
        "It gives itself away.",
    )
    with pytest.raises(ValidationError, match="now “retired”"):
        reviews.retire(item, kitchen.lead, "again")


def test_a_study_of_others_is_told_which_test_cases_its_participants_receive_no_more(
    kitchen: Kitchen, client: Client
) -> None:
    items = [make_item(f"soup-{n}", field="cooking") for n in (1, 2)]
    study = make_study("hers", recruitment="open")
    member = make_user("eve", study)
    study.items.add(*items)
    make_study("over", recruitment="closed").items.add(items[0])
    make_study("else")
    client.force_login(member)
    page = reverse("lab:study", args=["hers"])
    assert not client.get(page).context["retired"]
    reviews.retire(items[0], kitchen.lead, "It gives itself away.")
    event = AuditEvent.objects.get(action="item_retired", study__gt="")
    assert (event.study, event.details["item"]) == ("hers", "soup-1 v1")
    assert (event.details["field"], event.reason) == ("cooking", "It gives itself away.")
    told = client.get(page)
    assert [*told.context["retired"]] == [items[0]]
    assert "no longer receive" in told.text
    study.study_items.filter(item=items[0]).delete()
    assert not client.get(page).context["retired"]


def test_one_version_is_retired_or_all_are(kitchen: Kitchen) -> None:
    first, second = (make_item(field="cooking", version=n) for n in (1, 2))
    third = reviews.revise(second, kitchen.ada)
    reviews.retire(second, kitchen.lead, "old")
    statuses = Item.objects.order_by("version").exclude(pk=kitchen.draft.pk)
    assert list(statuses.values_list("status", flat=True)) == ["accepted", "retired", "draft"]
    retired = reviews.retire(first, kitchen.lead, "leaky", every_version=True)
    assert {item.pk for item in retired} == {first.pk, third.pk}
    assert set(statuses.values_list("status", flat=True)) == {"retired"}


def test_a_revision_carries_the_description_and_starts_as_a_draft() -> None:
    user = make_user("vera")
    item = make_item(
        doi="10.1234/x",
        source="machine",
        generator="GPT-4",
        subfield="Systems/Circuits",
        texts="as-published",
        accepted_by=2,
    )
    revision = reviews.revise(item, user)
    assert (revision.key, revision.version, revision.status) == ("item-1", 2, "draft")
    assert (revision.doi, revision.source, revision.generator) == ("10.1234/x", "machine", "GPT-4")
    assert (revision.created_by, revision.texts, revision.markup, revision.accepted_by) == (
        user,
        "authored",
        item.markup,
        None,
    )
    change = revision.changes.get()
    assert (change.action, change.by, change.after["from_version"]) == ("created", user, 1)
    item.refresh_from_db()
    assert item.status == "accepted"


def test_a_version_that_is_being_written_is_gone_on_with() -> None:
    first = make_item()
    reviews.revise(first)
    with pytest.raises(ValidationError, match="item-1 v2, is in the state “draft”"):
        reviews.revise(first)
    accepted(Item.objects.get(version=2))
    assert reviews.revise(first).version == 3


def test_the_latest_versions_are_one_per_key() -> None:
    reviews.revise(make_item("a"))
    make_item("b")
    assert set(Item.objects.latest_versions().values_list("key", "version")) == {("a", 2), ("b", 1)}


def test_a_step_is_taken_once_from_two_windows(kitchen: Kitchen) -> None:
    reviews.submit(kitchen.draft, kitchen.ada)
    with pytest.raises(ValidationError, match="now “in review”"):
        reviews.submit(kitchen.draft, kitchen.ada)  # the window still shows the draft
    assert kitchen.draft.changes.filter(action="status").count() == 1


def test_reviews_of_an_unchanged_text_hold_when_it_comes_back(kitchen: Kitchen) -> None:
    item = reviews.submit(kitchen.draft, kitchen.ada)
    reviews.review(item, kitchen.ben, "accept")
    reviews.back_to_draft(item, kitchen.ada, "I will check.")
    item = reviews.submit(item, kitchen.ada)
    assert reviews.review(item, kitchen.cleo, "accept").status == "accepted"
