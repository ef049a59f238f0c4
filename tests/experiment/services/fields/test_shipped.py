"""Neuroscience and its five subfields are data that comes with the project."""

import pytest

from experiment.models import Item, ResearchField
from experiment.services.fields import ensure_field
from experiment.services.item_choice import ensure_items

pytestmark = pytest.mark.django_db


def test_a_shipped_field_has_its_subfields_with_what_each_asks_for() -> None:
    field = ensure_field("neuroscience")
    assert (field.name, field.slug, field.subfields.count()) == ("neuroscience", "neuroscience", 5)
    assert all(len(subfield.purpose.split()) > 20 for subfield in field.subfields.all())
    assert ensure_field("neuroscience") == field


def test_what_a_lead_wrote_stays_and_what_is_missing_comes() -> None:
    field = ResearchField.objects.create(name="neuroscience", slug="brains", reviews_needed=1)
    field.subfields.create(name="Systems/Circuits", purpose="Ours.")
    field.subfields.create(name="Cellular/Molecular")
    again = ensure_field("neuroscience", ["Clinical"])
    assert (again.slug, again.reviews_needed) == ("brains", 1)
    purposes = dict(field.subfields.values_list("name", "purpose"))
    assert (purposes["Systems/Circuits"], purposes["Clinical"]) == ("Ours.", "")
    assert purposes["Cellular/Molecular"].startswith("Asks")
    assert len(purposes) == 6


def test_the_demos_test_items_are_of_the_field_and_its_other_items_of_none() -> None:
    ensure_items(tuple(Item.Kind.values))
    fields = set(Item.objects.values_list("kind", "field", "is_demo"))
    assert fields == {
        ("test", "neuroscience", True),
        ("catch", "", True),
        ("practice", "", True),
    }
    Item.objects.update(field="")  # as an earlier release stored them
    ensure_items(tuple(Item.Kind.values))
    assert Item.objects.filter(field="neuroscience").count() == 30
    used = Item.objects.exclude(field="").values_list("subfield", flat=True)
    known = ResearchField.objects.get().subfields.values_list("name", flat=True)
    assert set(used) == set(known)
