"""What a database promises about items: accepted texts never change, whoever tries."""

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, IntegrityError, transaction

from experiment.models import Item
from tests.factories import make_item

pytestmark = [pytest.mark.both, pytest.mark.django_db]


@pytest.mark.parametrize("field", ["markup", "original", "altered", "sha256", "key"])
def test_the_database_refuses_to_change_an_accepted_text(field):
    item = make_item()
    with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
        Item.objects.filter(pk=item.pk).update(**{field: "x [[a, b]]"})


def test_the_database_refuses_to_change_a_retired_text():
    item = make_item(status="retired")
    with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
        Item.objects.filter(pk=item.pk).update(markup="x [[a, b]]")


def test_the_database_refuses_to_take_acceptance_back():
    item = make_item()
    with pytest.raises(DatabaseError, match="only be retired"), transaction.atomic():
        Item.objects.filter(pk=item.pk).update(status="draft")


def test_a_draft_may_change_and_keeps_its_derived_texts_in_step():
    item = make_item(status="draft")
    item.markup = "Rats [[slept, ran]]."
    item.save()
    item.refresh_from_db()
    assert (item.original, item.altered) == ("Rats slept.", "Rats ran.")


def test_a_note_on_an_accepted_item_may_change():
    item = make_item()
    item.note = "checked twice"
    item.save()
    assert Item.objects.get(pk=item.pk).note == "checked twice"


def test_one_key_has_one_row_per_version():
    make_item("twice")
    with pytest.raises(IntegrityError), transaction.atomic():
        make_item("twice")


def test_a_text_that_cannot_be_read_is_a_validation_error_with_its_place():
    with pytest.raises(ValidationError, match="line 1, column 6"):
        Item(key="k", markup="Rats [[slept, ran, ate]].").full_clean()
