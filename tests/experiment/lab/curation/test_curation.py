"""A study's curator reads its test cases."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from experiment.models import Item, Study
from tests.factories import accepted, make_item, make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db
PAGE = "/lab/studies/memory/test-cases/"


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.fixture
def vera(client: Client, study: Study) -> Client:
    user = make_user("vera")
    study.members.add(user, through_defaults={"role": "curator"})
    client.force_login(user)
    return client


def test_the_list_of_studies_leads_a_curator_to_the_test_cases(vera: Client) -> None:
    listed = vera.get("/lab/").content.decode()
    assert f'href="{PAGE}"' in listed
    assert "valid" not in listed  # how many took part is not for curators
    assert "memory-human-1" in vera.get(PAGE).content.decode()


def test_both_wordings_are_read(vera: Client, study: Study) -> None:
    item = study.items.get(key="memory-human-1")
    shown = vera.get(f"{PAGE}{item.pk}/").content.decode()
    assert '<span class="wording-text">rose</span>' in shown
    assert '<span class="wording-text">fell</span>' in shown


def test_drafts_of_newer_versions_are_not_shown_here(vera: Client, study: Study) -> None:
    old = study.items.get(key="memory-human-1")
    draft = make_item(old.key, version=2, status="draft")
    assert vera.get(f"{PAGE}{draft.pk}/").status_code == 404
    assert f"{PAGE}{draft.pk}/" not in vera.get(PAGE).content.decode()
    accepted(draft)
    assert vera.get(f"{PAGE}{draft.pk}/").status_code == 200


def test_members_of_the_field_are_led_to_the_page_of_the_test_case(
    vera: Client, study: Study
) -> None:
    item = study.items.get(key="memory-human-1")
    research_field = make_research_field("memory-research")
    Item.objects.filter(pk=item.pk).update(field=research_field.name)
    there = reverse("lab:item", args=[research_field.slug, item.pk])
    assert there not in vera.get(f"{PAGE}{item.pk}/").content.decode()
    research_field.members.add(User.objects.get(username="vera"))
    assert there in vera.get(f"{PAGE}{item.pk}/").content.decode()
