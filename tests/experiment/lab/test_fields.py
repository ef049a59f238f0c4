"""Leads of a field set it up and choose its people."""

import pytest
from django.test import Client

from experiment.models import AuditEvent, ResearchField
from tests.experiment.lab_client import browser
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
    page = lead.get("/lab/fields/new/").text
    assert "One other person" in page
    assert "Nobody yet: writers accept their own" in page
    place = lead.post("/lab/fields/new/", {"name": "Sleep", "reviews_needed": "1"})["Location"]
    assert place == "/lab/fields/sleep/settings/"
    assert lead.get(place).status_code == 200
    for name, reviews, said in (
        ("cooking", "2", "has this name"),
        ("Cooking", "2", "looks like the name of another field"),
        ("Rest", "6", "not one of the available choices"),
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
    assert (refused.status_code, "of another subfield" in refused.text) == (422, True)
    refused = lead.post(f"{PAGE}subfields/add/", {"new-name": "baking"})
    assert (refused.status_code, "already exists" in refused.text) == (422, True)
    refused = lead.post(f"{PAGE}people/add/", {"username": "<b>", "role": "curator"})
    assert (refused.status_code, "No active user" in refused.text) == (422, True)
    lead.post(f"{PAGE}people/add/", {"username": "ada", "role": "curator"})
    join("ada")
    ada, own = (field.memberships.get(user__username=name) for name in ("ada", "lead"))
    shown = lead.post(f"{PAGE}people/{own.pk}/remove/", follow=True).text
    assert "The last lead of a field must keep this role." in shown
    assert lead.post(f"{PAGE}people/{ada.pk}/role/", {"role": "king"}).status_code == 404
    lead.post(f"{PAGE}people/{ada.pk}/role/", {"role": "lead"})
    assert lead.post(f"{PAGE}people/{own.pk}/remove/")["Location"] == "/lab/fields/"


def test_a_lead_shares_a_field_with_studies_and_the_site_and_takes_it_back(lead: Client) -> None:
    field, study = ResearchField.objects.get(), make_study("soup", recruitment="open")
    for slug, status in (("nowhere", 422), ("soup", 302), ("soup", 302)):
        assert lead.post(f"{PAGE}people/studies/add/", {"study": slug}).status_code == status
    assert list(field.shared_with.all()) == [study]
    assert "<strong>soup</strong>" in lead.get(f"{PAGE}people/").text
    lead.post(f"{PAGE}people/site/", {"is_shared": "yes"})
    field.refresh_from_db()
    assert field.is_shared
    assert "Everybody with an account" in lead.get(f"{PAGE}people/").text
    lead.post(f"{PAGE}people/studies/{study.pk}/remove/")
    lead.post(f"{PAGE}people/site/", {"is_shared": "no"})
    field.refresh_from_db()
    assert (field.is_shared, field.shared_with.count()) == (False, 0)
    told = AuditEvent.objects.filter(action="field_changed", actor="lead").order_by("pk")
    assert [event.details["change"] for event in told] == [
        "shared",
        "shared with the site",
        "no longer shared",
        "no longer shared with the site",
    ]


def join(name: str) -> Client:
    """Answer the field that has asked, from the list of fields."""
    client = browser(name)
    assert "You are asked to join" in client.get("/lab/").text + client.get("/lab/fields/").text
    assert client.get(f"{PAGE}people/").status_code == 404
    assert client.post(f"{PAGE}people/join/", {"answer": "join"}).status_code == 302
    assert client.post(f"{PAGE}people/join/", {"answer": "join"}).status_code == 404
    return client


def test_a_reader_sees_that_they_may_use_a_field_and_none_of_its_pages(lead: Client) -> None:
    make_user("rita")
    make_item(field="cooking")
    lead.post(f"{PAGE}people/add/", {"username": "rita", "role": "reader"})
    rita = join("rita")
    shown = rita.get("/lab/fields/").text
    assert "cooking" in shown
    assert f'href="{PAGE}' not in shown
    for page in ("", "people/", "settings/", "import/", "questions/"):
        assert rita.get(PAGE + page).status_code == 403
    assert rita.post(f"{PAGE}people/site/", {"is_shared": "yes"}).status_code == 403
    assert "cooking" not in rita.get("/lab/studies/").text


@pytest.mark.parametrize("role", ["reader", "curator"])
def test_a_member_leaves_without_asking_the_lead_but_not_the_last_lead(
    lead: Client, role: str
) -> None:
    make_user("rita")
    lead.post(f"{PAGE}people/add/", {"username": "rita", "role": role})
    rita, field = join("rita"), ResearchField.objects.get()
    place = "/lab/fields/" if role == "reader" else f"{PAGE}people/"
    assert f"{PAGE}people/leave/" in rita.get(place).text
    assert rita.post(f"{PAGE}people/leave/")["Location"] == "/lab/fields/"
    assert rita.post(f"{PAGE}people/leave/").status_code == 404
    event = AuditEvent.objects.get(action="member_removed")
    assert (event.actor, event.details["member"]) == ("rita", "rita")
    assert "last lead" in lead.post(f"{PAGE}people/leave/", follow=True).text
    assert [member.username for member in field.members.all()] == ["lead"]


def test_a_curator_sees_with_whom_a_field_is_shared_and_shares_nothing(lead: Client) -> None:
    make_user("cora")
    lead.post(f"{PAGE}people/add/", {"username": "cora", "role": "curator"})
    cora = join("cora")
    page = cora.get(f"{PAGE}people/").text
    assert "Sharing" in page
    assert f"{PAGE}people/s" not in page
    for address, sent in (("site/", {"is_shared": "yes"}), ("studies/add/", {"study": "memory"})):
        assert cora.post(f"{PAGE}people/{address}", sent).status_code == 403
