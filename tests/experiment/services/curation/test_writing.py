"""Drafts are created, written one after the other, and remembered."""

import pytest
from django.core.exceptions import ValidationError

from experiment.models import Item
from experiment.services.curation import writing
from tests.experiment.http_client import at_once
from tests.factories import FILLER, make_research_field, make_user

pytestmark = pytest.mark.django_db
TEXT = f"{FILLER}The dough [[rose, fell]]."


def test_a_draft_has_the_next_key_of_its_field_and_its_history_begins() -> None:
    field, ada = make_research_field("cooking", "baking"), make_user("ada")
    first = writing.create_draft(field, TEXT, by=ada, subfield="baking")
    second = writing.create_draft(field, TEXT, by=ada)
    assert (first.key, second.key) == ("cooking-0001", "cooking-0002")
    assert (first.field, first.subfield, first.status) == ("cooking", "baking", "draft")
    assert [(c.by, c.action, c.after["markup"]) for c in first.changes.all()] == [
        (ada, "created", TEXT)
    ]


def test_an_endless_number_of_another_makes_no_key_too_long() -> None:
    field = make_research_field("cooking")
    writing.create_draft(field, TEXT, by=None, key="cooking-" + "9" * 72)
    assert writing.create_draft(field, TEXT, by=None).key == "cooking-0001"


def test_writing_is_remembered_with_what_stood_before() -> None:
    item = writing.create_draft(make_research_field(), TEXT, by=None)
    new = TEXT.replace("rose, fell", "rose, sank")
    written = writing.write_draft(item, by=None, markup=new, note="softer")
    assert (written.edits, written.altered.endswith("sank.")) == (1, True)
    change = item.changes.last()
    assert change is not None
    assert (change.action, change.before, change.after) == (
        "text",
        {"markup": TEXT, "note": ""},
        {"markup": new, "note": "softer"},
    )
    assert writing.write_draft(written, by=None, markup=new).edits == 1
    assert item.changes.count() == 2


def test_the_last_author_of_each_column_of_a_draft_is_known() -> None:
    ada, ben = make_user("ada"), make_user("ben")
    item = writing.create_draft(make_research_field(), TEXT, by=ada)
    writing.write_draft(item, by=ben, markup=TEXT + " It was warm.")
    writing.write_draft(item, by=ada, note="softer")
    found = writing.last_changes(item, ("markup", "note", "doi"))
    assert {name: edit.by for name, edit in found.items()} == {"markup": "ben", "note": "ada"}


def test_a_subfield_of_another_field_and_an_accepted_text_are_refused() -> None:
    field = make_research_field("cooking", "baking")
    with pytest.raises(ValidationError, match="not a subfield of cooking"):
        writing.create_draft(field, TEXT, by=None, subfield="optics")
    item = writing.create_draft(field, TEXT, by=None)
    Item.objects.filter(pk=item.pk).update(status="accepted")
    assert writing.write_draft(item, by=None, markup=TEXT).edits == 0
    with pytest.raises(ValidationError, match="Start a new version"):
        writing.write_draft(item, by=None, note="late")


@pytest.mark.django_db(transaction=True)
def test_drafts_begun_at_the_same_moment_have_keys_of_their_own() -> None:
    field = make_research_field("cooking")
    made = at_once([lambda: writing.create_draft(field, TEXT, by=None).key for _ in range(8)])
    assert sorted(made) == [f"cooking-{n:04d}" for n in range(1, 9)]
