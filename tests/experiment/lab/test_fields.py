"""Leads of a field set it up and choose its people."""

import pytest
from django.test import Client

from experiment.models import ResearchField
from tests.factories import (
    make_item,
    make_research_field,
    make_study,
    make_user,
)

pytestmark = pytest.mark.django_db
PAGE = "/lab/fields/cooking/"


@pytest.fixture
def lead(client: Client) -> Client:
    user = make_user("lead", make_study())
    make_research_field("cooking", "baking", lead=user)
    client.force_login(user)
    return client


def test_a_researcher_makes_a_field_and_leads_it(lead: Client) -> None:
    assert "/lab/fields/new/" in lead.get("/lab/fields/").content.decode()
    place = lead.post("/lab/fields/new/", {"name": "Sleep", "reviews_needed": "1"})["Location"]
    assert place == "/lab/fields/sleep/settings/"
    assert lead.get(place).status_code == 200


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"name": "Cooking", "reviews_needed": "2"}, "has this name"),
        ({"name": "Sleep", "reviews_needed": "6"}, "less than or equal to 5"),
        ({"name": "", "reviews_needed": "2"}, "required"),
    ],
)
def test_what_is_wrong_with_a_new_field_is_said(
    lead: Client, sent: dict[str, str], said: str
) -> None:
    response = lead.post("/lab/fields/new/", sent)
    assert response.status_code == 422
    assert said in response.content.decode()
    assert ResearchField.objects.count() == 1


def test_subfields_are_added_changed_and_removed(lead: Client) -> None:
    lead.post(f"{PAGE}subfields/add/", {"new-name": "grilling", "new-purpose": "Asks when."})
    field = ResearchField.objects.get()
    grilling, baking = field.subfields.get(name="grilling"), field.subfields.get(name="baking")
    make_item(field="cooking", subfield="baking")
    lead.post(f"{PAGE}subfields/{grilling.pk}/", {"name": "roasting", "purpose": "Asks why."})
    # A name that is used is not even taken from the form
    lead.post(f"{PAGE}subfields/{baking.pk}/", {"name": "cake", "purpose": "Asks <b>what</b>."})
    assert set(field.subfields.values_list("name", "purpose")) == {
        ("roasting", "Asks why."),
        ("baking", "Asks <b>what</b>."),
    }
    assert "&lt;b&gt;what&lt;/b&gt;" in lead.get(f"{PAGE}settings/").content.decode()
    for row in (grilling, baking):
        lead.post(f"{PAGE}subfields/{row.pk}/remove/")
    assert [row.name for row in field.subfields.all()] == ["baking"]
    refused = lead.post(f"{PAGE}subfields/add/", {"new-name": "BAKING"})
    assert refused.status_code == 422
    assert "a subfield of this name" in refused.content.decode()


def test_people_are_added_change_and_leave(lead: Client) -> None:
    make_user("ada")
    refused = lead.post(f"{PAGE}people/add/", {"username": "<b>", "role": "curator"})
    assert refused.status_code == 422
    assert "Nobody who can sign in" in refused.content.decode()
    lead.post(f"{PAGE}people/add/", {"username": "ada", "role": "curator"})
    field = ResearchField.objects.get()
    ada = field.memberships.get(user__username="ada")
    own = field.memberships.get(user__username="lead")
    shown = lead.post(f"{PAGE}people/{own.pk}/remove/", follow=True).content.decode()
    assert "The last lead of a field stays one." in shown
    assert lead.post(f"{PAGE}people/{ada.pk}/role/", {"role": "king"}).status_code == 404
    lead.post(f"{PAGE}people/{ada.pk}/role/", {"role": "lead"})
    gone = lead.post(f"{PAGE}people/{own.pk}/remove/")
    assert gone["Location"] == "/lab/fields/"
    assert lead.get(f"{PAGE}people/").status_code == 404
