"""The decisions of a field's leads, who they are, and the field that comes with the project."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from experiment.domain.roles import FieldRole
from experiment.models import AuditEvent, Item, ResearchField, Study
from experiment.services import fields, members
from experiment.services.curation import reviews, writing
from experiment.services.fields import ensure_field
from experiment.services.item_choice import ensure_items
from experiment.services.rights import field_rights_of, fields_of
from tests.factories import make_item, make_research_field, make_study, make_user, sound_text

pytestmark = pytest.mark.django_db


def told() -> list[tuple[str, str]]:
    return list(AuditEvent.objects.order_by("pk").values_list("action", "actor"))


def test_the_maker_of_a_field_leads_it() -> None:
    ada = make_user("ada")
    field = fields.create_field("Sleep & dreams", 1, ada)
    assert (field.slug, field.reviews_needed) == ("sleep-dreams", 1)
    assert "lead_field" in field_rights_of(ada, field)
    assert told() == [("field_created", "ada")]


def test_a_field_is_told_from_others_and_from_pages_of_the_lab() -> None:
    ada = make_user("ada")
    assert fields.create_field("New", 2, ada).slug == "new-2"
    assert fields.create_field("睡眠", 2, ada).slug == "field"
    with pytest.raises(ValidationError, match="another field of research"):
        fields.create_field("nEW", 2, ada)
    with pytest.raises(ValidationError):
        fields.create_field("Sleep", 6, ada)


def test_a_name_stays_once_test_cases_have_it() -> None:
    ada = make_user("ada")
    field = make_research_field("cooking", lead=ada)
    fields.change_field(field, "baking", 2, ada)
    field.refresh_from_db()
    assert (field.name, field.slug) == ("baking", "cooking")
    make_item(field="baking")
    with pytest.raises(ValidationError, match="cannot change"):
        fields.change_field(field, "cooking", 2, ada)
    assert fields.change_field(field, "baking", 2, ada) == []
    assert told() == [("field_changed", "ada")]


def test_fewer_reviews_accept_what_has_enough_and_nothing_without_one() -> None:
    lead, ada, ben = map(make_user, ("lead", "ada", "ben"))
    field = make_research_field(lead=lead, curators=(ada, ben))
    first, second = (
        reviews.submit(writing.create_draft(field, sound_text(n), by=ada), ada) for n in (1, 2)
    )
    reviews.review(first, ben, "accept")
    [accepted] = fields.change_field(field, "cooking", 0, lead)
    assert (accepted, accepted.accepted_by) == (first, 1)
    second.refresh_from_db()
    assert second.status == "in_review"


def test_a_subfield_is_renamed_and_removed_only_while_no_test_case_has_it() -> None:
    ada = make_user("ada")
    field = make_research_field("cooking", lead=ada)
    subfield = fields.add_subfield(field, "baking", "Asks what rises.", ada)
    with pytest.raises(ValidationError, match="looks like"):
        fields.add_subfield(field, "Baking", "", ada)
    fields.change_subfield(subfield, "bread", "Asks what rises.", ada)
    make_item(field="cooking", subfield="bread")
    make_item("other", field="cooking", subfield="soup")
    for act in (
        lambda: fields.change_subfield(subfield, "cake", "", ada),
        lambda: fields.remove_subfield(subfield, ada),
    ):
        with pytest.raises(ValidationError, match="cannot"):
            act()
    fields.change_subfield(subfield, "bread", "Asks how high.", ada)
    unused = fields.add_subfield(field, "grilling", "", ada)
    fields.remove_subfield(unused, ada)
    assert list(field.subfields.values_list("name", "purpose")) == [("bread", "Asks how high.")]
    assert {event[0] for event in told()} == {"field_changed"}
    assert len(told()) == 5


def test_people_come_by_user_name_change_and_go() -> None:
    lead, ada = make_user("lead"), make_user("ada")
    make_user("gone", is_active=False)
    field = make_research_field("cooking", lead=lead)
    for name in ("nobody", "gone"):
        with pytest.raises(ValidationError, match="No active user"):
            members.add_to_field(field, name, FieldRole.CURATOR, lead)
    member = members.add_to_field(field, "ada", FieldRole.CURATOR, lead)
    with pytest.raises(ValidationError, match="already a member of the field"):
        members.add_to_field(field, "ada", FieldRole.LEAD, lead)
    members.change_role(member, FieldRole.LEAD, lead)
    assert field_rights_of(ada, field) == frozenset()
    with pytest.raises(ValidationError, match="last lead"):  # who was asked leads nothing yet
        members.remove_member(field.memberships.get(user=lead), lead)
    members.answer(member, agrees=True)
    assert "lead_field" in field_rights_of(ada, field)
    members.remove_member(field.memberships.get(user=lead), ada)
    assert told() == [("member_added", "lead"), ("role_changed", "lead"), ("member_removed", "ada")]


def test_nobody_belongs_to_a_field_unasked_or_after_declining() -> None:
    """Else the texts of whoever starts a study of that name would be written into it, and its test cases drawn by their studies."""
    evil, ada = make_user("evil"), make_user("ada")
    field = make_research_field("memory", lead=evil)
    asked = members.add_to_field(field, "ada", FieldRole.LEAD, evil)
    assert field_rights_of(ada, field) == frozenset()
    assert not fields_of(ada)
    assert [each.field for each in members.asked_to_join(ada)] == [field]
    members.answer(asked, agrees=False)
    members.answer(asked, agrees=True)
    assert not field.memberships.filter(user=ada).exists()
    assert not members.asked_to_join(ada)


def test_the_last_lead_stays() -> None:
    lead = make_user("lead")
    field = make_research_field("cooking", lead=lead, curators=[make_user("ada")])
    member = field.memberships.get(user=lead)
    with pytest.raises(ValidationError, match="last lead"):
        members.remove_member(member, lead)
    with pytest.raises(ValidationError, match="last lead"):
        members.change_role(member, FieldRole.CURATOR, lead)
    assert ResearchField.objects.get().memberships.count() == 2


# Neuroscience and its five subfields are data that come with the project


def test_a_shipped_field_has_its_subfields_with_what_each_asks_for() -> None:
    field = ensure_field("neuroscience")
    assert (field.name, field.slug, field.subfields.count()) == ("neuroscience", "neuroscience", 5)
    assert all(len(subfield.purpose.split()) > 20 for subfield in field.subfields.all())
    assert ensure_field("neuroscience") == field


def test_a_leads_settings_stay_and_missing_subfields_are_added() -> None:
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
    assert Item.objects.filter(field="neuroscience").count() == 30
    used = Item.objects.exclude(field="").values_list("subfield", flat=True)
    known = ResearchField.objects.get().subfields.values_list("name", flat=True)
    assert set(used) == set(known)


@pytest.mark.parametrize("name", ["neuroscience", "Neuroscience!", "Elements", "N\u0435uroscience"])
def test_nobody_makes_a_field_that_comes_with_the_site_before_its_texts_come(name: str) -> None:
    """Its lead would lead the published test cases and the demo's questions."""
    ada, boss = make_user("ada"), make_user("boss", is_superuser=True)
    with pytest.raises(ValidationError, match="comes with the site"):
        fields.create_field(name, 0, ada)
    own = fields.create_field("sleep", 0, ada)
    with pytest.raises(ValidationError, match="comes with the site"):
        fields.change_field(own, name, 0, ada)
    assert fields.create_field(name, 0, boss).name == name


def shared(field: ResearchField, slug: str, by: Any) -> list[str]:
    """The messages if a lead shares their field with a study of this name."""
    try:
        fields.share_with_study(field, slug, by)
    except ValidationError as error:
        return list(error.messages)
    return []


def test_a_study_that_one_cannot_see_is_as_good_as_none_to_share_with() -> None:
    lead = make_user("lead")
    field = make_research_field(lead=lead)
    foreign, own, opened = (make_study(slug) for slug in ("foreign", "own", "opened"))
    own.members.add(lead, through_defaults={"role": "curator"})
    Study.objects.filter(pk=opened.pk).update(recruitment="open")
    refused = shared(field, "nowhere", lead)
    assert refused == shared(field, "foreign", lead) != []
    assert shared(field, "own", lead) == shared(field, "opened", lead) == []
    assert list(field.shared_with.order_by("slug")) == [opened, own]
    assert shared(field, "foreign", make_user("boss", is_superuser=True)) == []
    assert foreign in field.shared_with.all()


def test_an_account_that_cannot_sign_in_is_as_good_as_none_to_add() -> None:
    lead = make_user("lead")
    field = make_research_field(lead=lead)
    make_user("gone", is_active=False)
    said = []
    for name in ("gone", "nobody"):
        with pytest.raises(ValidationError) as refused:
            members.add_to_field(field, name, FieldRole.READER, lead)
        said.append(refused.value.messages)
    assert said[0] == said[1]
