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


def test_a_researcher_makes_a_field_and_what_is_wrong_with_one_is_said(lead: Client) -> None:
    assert "/lab/fields/new/" in lead.get("/lab/fields/").text
    place = lead.post("/lab/fields/new/", {"name": "Sleep", "reviews_needed": "1"})["Location"]
    assert place == "/lab/fields/sleep/settings/"
    assert lead.get(place).status_code == 200
    for name, reviews, said in (
        ("Cooking", "2", "has this name"),
        ("Rest", "6", "less than or equal to 5"),
        ("", "2", "required"),
    ):
        response = lead.post("/lab/fields/new/", {"name": name, "reviews_needed": reviews})
        assert response.status_code == 422
        assert said in response.text


def test_subfields_and_people_are_added_changed_and_removed(lead: Client) -> None:
    make_user("ada")
    make_item(field="cooking", subfield="baking")
    lead.post(f"{PAGE}subfields/add/", {"new-name": "grilling", "new-purpose": "Asks when."})
    field = ResearchField.objects.get()
    grilling, baking = field.subfields.get(name="grilling"), field.subfields.get(name="baking")
    lead.post(f"{PAGE}subfields/{grilling.pk}/", {"name": "roasting", "purpose": "Asks why."})
    # A name that is used is not even taken from the form
    lead.post(f"{PAGE}subfields/{baking.pk}/", {"name": "cake", "purpose": "Asks <b>what</b>."})
    for row in (grilling, baking):
        lead.post(f"{PAGE}subfields/{row.pk}/remove/")
    assert list(field.subfields.values_list("name", "purpose")) == [("baking", "Asks <b>what</b>.")]
    refused = lead.post(f"{PAGE}subfields/add/", {"new-name": "BAKING"})
    assert (refused.status_code, "a subfield with this name" in refused.text) == (422, True)
    refused = lead.post(f"{PAGE}people/add/", {"username": "<b>", "role": "curator"})
    assert (refused.status_code, "No active user" in refused.text) == (422, True)
    lead.post(f"{PAGE}people/add/", {"username": "ada", "role": "curator"})
    ada, own = (field.memberships.get(user__username=name) for name in ("ada", "lead"))
    shown = lead.post(f"{PAGE}people/{own.pk}/remove/", follow=True).text
    assert "The last lead of a field must keep this role." in shown
    assert lead.post(f"{PAGE}people/{ada.pk}/role/", {"role": "king"}).status_code == 404
    lead.post(f"{PAGE}people/{ada.pk}/role/", {"role": "lead"})
    assert lead.post(f"{PAGE}people/{own.pk}/remove/")["Location"] == "/lab/fields/"
