"""The promises of a database about items: nobody can change accepted texts."""

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, IntegrityError, transaction

from experiment.models import Item
from tests.factories import make_item

FROZEN = ("markup", "original", "altered", "sha256", "key")
pytestmark = [pytest.mark.both, pytest.mark.django_db]


@pytest.mark.parametrize(
    ("status", "change", "words"),
    [
        *(("accepted", {name: "x [[a, b]]"}, "never changes") for name in FROZEN),
        ("retired", {"markup": "x [[a, b]]"}, "never changes"),
        ("accepted", {"status": "draft"}, "only be retired"),
        ("retired", {"status": "draft"}, "only be retired"),
    ],
)
def test_the_database_refuses_to_change_what_was_accepted(status, change, words):
    item = make_item(status=status)
    with pytest.raises(DatabaseError, match=words), transaction.atomic():
        Item.objects.filter(pk=item.pk).update(**change)


def test_a_draft_may_change_and_keeps_its_derived_texts_in_step():
    item = make_item(status="draft")
    item.markup = "Rats [[slept, ran]]."
    item.save()
    item.refresh_from_db()
    assert (item.original, item.altered) == ("Rats slept.", "Rats ran.")
    accepted = make_item("accepted")
    accepted.note = "checked twice"
    accepted.save()  # of an accepted one the note may change


def test_one_key_has_one_row_per_version():
    make_item("twice")
    with pytest.raises(IntegrityError), transaction.atomic():
        make_item("twice")


def test_a_text_that_cannot_be_read_is_a_validation_error_with_its_place():
    with pytest.raises(ValidationError, match="line 1, column 6"):
        Item(key="k", markup="Rats [[slept, ran, ate]].").full_clean()
