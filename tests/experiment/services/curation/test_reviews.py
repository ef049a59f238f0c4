"""Verdicts on a text: by whom, on what, and when they make it accepted."""

from collections.abc import Callable
from datetime import date
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from experiment.domain import item_columns
from experiment.domain.item_columns import REVIEWED
from experiment.lab.questions import WRITTEN as QUESTION_COLUMNS
from experiment.models import AuditEvent, Item, ResearchField
from experiment.services.curation import reviews, writing
from experiment.services.questions import save_template
from tests.experiment.http_client import at_once
from tests.experiment.services.curation.test_lifecycle import TEXT, Kitchen
from tests.factories import accepted, make_item, make_question, make_user

pytestmark = pytest.mark.django_db
upgrade = import_module("experiment.migrations.0010_verdicts_hold_for_details")


@pytest.fixture
def kitchen() -> Kitchen:
    found = Kitchen()
    found.draft = reviews.submit(found.draft, found.ada)
    return found


def reworded(kitchen: Kitchen, by: User, *texts: str) -> Item:
    """Back to draft, written anew by this person, and in review again."""
    item = reviews.back_to_draft(kitchen.draft, kitchen.ada, "a word")
    for text in texts or [f"{TEXT} It was warm."]:
        item = writing.write_draft(item, by=by, markup=text)
    return reviews.submit(item, kitchen.ada)


def needing(kitchen: Kitchen, n: int) -> ResearchField:
    ResearchField.objects.filter(pk=kitchen.field.pk).update(reviews_needed=n)
    kitchen.field.refresh_from_db()
    return kitchen.field


def test_the_second_of_two_others_makes_it_accepted(kitchen: Kitchen) -> None:
    item = reviews.review(kitchen.draft, kitchen.ben, "accept", " fine ")
    assert (item.status, item.accepted_by) == ("in_review", None)
    item = reviews.review(item, kitchen.cleo, "accept")
    assert (item.status, item.accepted_by) == ("accepted", 2)
    item.refresh_from_db()
    assert (item.status, item.accepted_by) == ("accepted", 2)
    assert list(item.reviews.values_list("text", "sha256")) == [
        ("fine", item.reviewed_sha256),
        ("", item.reviewed_sha256),
    ]
    change = item.changes.last()
    assert change is not None
    assert (change.by, change.after) == (kitchen.cleo, {"status": "accepted"})
    event = AuditEvent.objects.get(action="item_accepted")
    assert (event.actor, event.details["reviewers"]) == ("cleo", 2)


def test_a_writer_gives_no_verdict_on_their_text(kitchen: Kitchen) -> None:
    with pytest.raises(ValidationError, match="You wrote"):
        reviews.review(kitchen.draft, kitchen.ada, "accept")
    item = reworded(kitchen, kitchen.ben)
    with pytest.raises(ValidationError):
        reviews.review(item, kitchen.ben, "accept")
    assert reviews.is_awaited(item, kitchen.field, kitchen.cleo)
    assert not reviews.is_awaited(item, kitchen.field, kitchen.ben)


def test_a_verdict_is_given_once_and_a_refusal_has_words(kitchen: Kitchen) -> None:
    for verdict in ("revise", "refuse"):
        with pytest.raises(ValidationError, match="eason"):
            reviews.review(kitchen.draft, kitchen.ben, verdict, " ")
    with pytest.raises(ValidationError, match="Choose one"):
        reviews.review(kitchen.draft, kitchen.ben, "love")
    reviews.review(kitchen.draft, kitchen.ben, "accept")
    with pytest.raises(ValidationError, match="have already given"):
        reviews.review(kitchen.draft, kitchen.ben, "refuse", "no")
    assert kitchen.draft.reviews.count() == 1


@pytest.mark.parametrize("verdict", ["revise", "refuse"])
def test_one_who_is_opposed_keeps_it_from_acceptance(kitchen: Kitchen, verdict: str) -> None:
    reviews.review(kitchen.draft, kitchen.lead, verdict, "The methods give it away.")
    reviews.review(kitchen.draft, kitchen.ben, "accept")
    item = reviews.review(kitchen.draft, kitchen.cleo, "accept")
    assert item.status == "in_review"
    reviews.take_back(item, kitchen.lead)
    assert reviews.is_awaited(item, kitchen.field, kitchen.lead)
    change = item.changes.last()
    assert change is not None
    assert change.before == {"verdict": verdict, "why": "The methods give it away."}
    item = reviews.review(item, kitchen.lead, "accept")
    assert (item.status, item.accepted_by) == ("accepted", 3)


def test_a_writer_reviews_no_later_version_that_contains_their_text(kitchen: Kitchen) -> None:
    """Another person's new version is in their name, and every word of it still the first one's."""
    reviews.review(kitchen.draft, kitchen.ben, "accept")
    item = reviews.review(kitchen.draft, kitchen.cleo, "accept")
    later = reviews.submit(reviews.revise(item, kitchen.ben), kitchen.ben)
    assert set(reviews.writers_of(later)) == {kitchen.ada, kitchen.ben}
    assert not Item.objects.filter(reviews.waiting_for(kitchen.ada), pk=later.pk).exists()
    with pytest.raises(ValidationError, match="You wrote this text"):
        reviews.review(later, kitchen.ada, "accept")
    assert reviews.review(later, kitchen.cleo, "accept").status == "in_review"


def test_the_writer_of_a_template_reviews_no_question_made_from_it(kitchen: Kitchen) -> None:
    """Its words are theirs, whoever filled it from a table; those who wrote one before it made questions are all asked."""
    for by, answer in ((kitchen.ada, "It has {{ n }}."), (kitchen.lead, "It has {{ n }} of them.")):
        rules = [{"when": "", "answer": answer}]
        template = save_template(
            kitchen.field, "counts", "How many has {{ name }}?", rules, {}, by=by
        )
    values = {"field": kitchen.field.name, "status": "in_review", "created_by": kitchen.ben}
    source = {"table": "0" * 64, "row": 1, "rule": 1, "values": {}}
    filled = make_question("counts-1", **values, template=template, made_from=source)
    named = make_question("named-1", **values, template=template)
    assert list(reviews.writers_of(filled)) == [kitchen.ada, kitchen.ben, kitchen.lead]
    assert list(reviews.writers_of(named)) == [kitchen.ben]
    for writer in (kitchen.ada, kitchen.lead):
        waiting = Item.objects.filter(reviews.waiting_for(writer))
        assert (filled in waiting, named in waiting) == (False, True)
        with pytest.raises(ValidationError, match="You wrote this text"):
            reviews.review(filled, writer, "accept")
    assert reviews.review(filled, kitchen.cleo, "accept").status == "in_review"


def test_a_changed_text_has_no_reviews_yet(kitchen: Kitchen) -> None:
    reviews.review(kitchen.draft, kitchen.ben, "accept")
    item = reworded(kitchen, kitchen.ada)
    assert reviews.count(item, kitchen.field).accepting == 0
    assert reviews.review(item, kitchen.cleo, "accept").status == "in_review"
    assert reviews.review(item, kitchen.ben, "accept").status == "accepted"


def test_a_reviewer_who_wrote_in_it_later_counts_no_more_even_if_the_old_text_returns(
    kitchen: Kitchen,
) -> None:
    reviews.review(kitchen.draft, kitchen.ben, "accept")
    item = reworded(kitchen, kitchen.ben, f"{TEXT} It was warm.", TEXT)
    assert reviews.review(item, kitchen.cleo, "accept").status == "in_review"
    assert reviews.count(item, kitchen.field).accepting == 1


def test_a_field_may_ask_for_one_review(kitchen: Kitchen) -> None:
    needing(kitchen, 1)
    item = reviews.review(kitchen.draft, kitchen.ben, "accept")
    assert (item.status, item.accepted_by) == ("accepted", 1)
    with pytest.raises(ValidationError, match="now “accepted”"):
        reviews.review(kitchen.draft, kitchen.cleo, "accept")


def test_where_no_review_is_asked_for_the_writer_accepts_alone_which_stands_on_it(
    kitchen: Kitchen,
) -> None:
    with pytest.raises(ValidationError):
        reviews.accept_alone(kitchen.draft, kitchen.ada)
    needing(kitchen, 0)
    with pytest.raises(ValidationError):
        reviews.accept_alone(kitchen.draft, kitchen.ben)  # who did not write it reviews it
    item = reviews.accept_alone(kitchen.draft, kitchen.ada)
    assert (item.status, item.accepted_by) == ("accepted", 0)


def test_nobody_is_overruled_where_no_review_is_asked_for(kitchen: Kitchen) -> None:
    needing(kitchen, 0)
    reviews.review(kitchen.draft, kitchen.ben, "revise", "Too long.")
    with pytest.raises(ValidationError, match="rejected this text"):
        reviews.accept_alone(kitchen.draft, kitchen.ada)


def test_a_text_that_nobody_here_wrote_needs_at_least_one_review(kitchen: Kitchen) -> None:
    needing(kitchen, 0)
    item = make_item(field="cooking", status="in_review")
    with pytest.raises(ValidationError):
        reviews.accept_alone(item, kitchen.ben)
    assert reviews.review(item, kitchen.ben, "accept").accepted_by == 1


def test_the_verdict_of_a_deleted_account_stays(kitchen: Kitchen) -> None:
    guest = make_user("guest")
    kitchen.field.members.add(guest)
    reviews.review(kitchen.draft, guest, "accept")
    guest.delete()
    assert reviews.review(kitchen.draft, kitchen.ben, "accept").accepted_by == 2


def or_too_late(act: Callable[..., object], *given: Any, **options: Any) -> Callable[[], str]:
    """Do it, or be told that somebody else was faster."""

    def tried() -> str:
        try:
            return str(act(*given, **options))
        except ValidationError:
            return "too late"

    return tried


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("needed", [1, 2])
def test_reviews_at_the_same_moment_give_one_acceptance(needed: int) -> None:
    kitchen = Kitchen()
    needing(kitchen, needed)
    item = reviews.submit(kitchen.draft, kitchen.ada)

    users = (kitchen.ben, kitchen.cleo, kitchen.lead)

    def accept(user: User) -> str:
        return reviews.review(item, user, "accept").status

    outcomes = at_once([or_too_late(accept, user) for user in users])
    assert outcomes.count("accepted") == 1
    assert outcomes.count("too late") == 3 - needed
    assert Item.objects.get().accepted_by == needed
    assert item.reviews.count() == needed
    assert item.changes.filter(after__status="accepted").count() == 1
    assert AuditEvent.objects.filter(action="item_accepted").count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_new_version_is_begun_once_and_all_are_retired_at_the_same_moment() -> None:
    kitchen = Kitchen()
    item, boss = accepted(kitchen.draft), make_user("boss", is_superuser=True)
    revised = at_once([or_too_late(reviews.revise, item, u) for u in (kitchen.ben, kitchen.cleo)])
    assert sorted(revised) == ["cooking-0001 v2", "too late"]
    versions = {kitchen.lead: item, boss: Item.objects.get(version=2)}
    retired = at_once(
        [
            or_too_late(reviews.retire, version, user, "leaky", every_version=True)
            for user, version in versions.items()
        ]
    )
    assert retired.count("too late") == 1
    assert set(Item.objects.values_list("status", flat=True)) == {"retired"}


# All that is accepted, and may differ after a verdict: a value that the first draft has not
DETAILS: dict[str, Any] = {
    "kind": "catch",
    "source": "machine",
    "generator": "GPT-4",
    "subfield": "baking",
    "doi": "10.1234/bread",
    "publication_date": date(2026, 3, 2),
}


def changed_after_a_verdict(kitchen: Kitchen, **details: Any) -> Item:
    kitchen.field.subfields.create(name="baking")
    reviews.review(kitchen.draft, kitchen.ben, "accept")
    item = reviews.back_to_draft(kitchen.draft, kitchen.ada, "a detail")
    item = writing.write_draft(item, by=kitchen.cleo, **details)
    return reviews.submit(item, kitchen.ada)


@pytest.mark.parametrize("name", DETAILS)
def test_a_changed_detail_makes_its_author_a_writer_and_voids_verdicts(
    kitchen: Kitchen, name: str
) -> None:
    needing(kitchen, 3)
    item = changed_after_a_verdict(kitchen, **{name: DETAILS[name]})
    assert reviews.count(item, kitchen.field).accepting == 0
    with pytest.raises(ValidationError, match="You wrote"):
        reviews.review(item, kitchen.cleo, "accept")
    waiting = Item.objects.filter(reviews.waiting_for(kitchen.ben))
    assert list(waiting) == [item]
    assert not Item.objects.filter(reviews.waiting_for(kitchen.cleo)).exists()
    assert reviews.review(item, kitchen.ben, "accept").status == "in_review"
    assert reviews.count(item, kitchen.field).accepting == 1


def test_a_note_is_for_curators_and_changes_no_verdict(kitchen: Kitchen) -> None:
    item = changed_after_a_verdict(kitchen, note="Compare with 12.")
    assert reviews.count(item, kitchen.field).accepting == 1
    assert reviews.review(item, kitchen.cleo, "accept").status == "accepted"


def test_all_that_can_be_written_of_a_version_is_reviewed_or_a_note() -> None:
    assert {*DETAILS, "note"} == set(item_columns.DETAILS)
    assert {*REVIEWED, "note"} >= {*item_columns.DETAILS, *QUESTION_COLUMNS}


def test_after_an_upgrade_verdicts_hold_for_the_details_at_hand_and_notes_are_told_apart(
    kitchen: Kitchen,
) -> None:
    changed_after_a_verdict(kitchen, note="Compare with 12.")
    reviews.review(kitchen.draft, kitchen.lead, "revise", "Why?")
    reviews.take_back(kitchen.draft, kitchen.lead)
    item = Item.objects.get()
    item.reviews.update(sha256=item.sha256)
    item.changes.filter(action__in=("note", "verdict")).update(action="details")
    Item.objects.update(reviewed_sha256="")
    upgrade.hash_versions(apps, None)
    upgrade.tell_apart(apps, None)
    assert Item.objects.get().reviewed_sha256 == item.reviewed_sha256
    assert reviews.count(item, kitchen.field).accepting == 1
    assert list(reviews.writers_of(item)) == [kitchen.ada]


def test_methods_and_exports_say_how_many_nobody_but_their_writers_accepted() -> None:
    make_item("reviewed", accepted_by=2)
    make_item("published", collection="brainbench")
    make_item("built-in", kind="catch")
    assert reviews.not_reviewed(Item.objects.all()) == ""
    make_item("alone", accepted_by=0)
    said = "1 of 2 test cases was not reviewed: on this site, nobody other than its writer accepted it."
    assert reviews.not_reviewed(Item.objects.all()) == said
