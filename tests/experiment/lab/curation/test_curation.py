"""A study's curator reads its test cases one by one, and pauses them while it runs."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from experiment.models import AuditEvent, Item, Study
from tests.factories import make_item, make_participant, make_research_field, make_study, make_user

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


def place(study: Study, key: str = "memory-human-1") -> str:
    return f"{PAGE}{study.items.get(key=key).pk}/"


def test_the_list_of_studies_leads_a_curator_to_the_test_cases(vera: Client) -> None:
    listed = vera.get("/lab/").content.decode()
    assert f'href="{PAGE}"' in listed
    assert "valid" not in listed  # how many took part is not for curators


def test_both_wordings_are_read(vera: Client, study: Study) -> None:
    shown = vera.get(place(study)).content.decode()
    assert '<span class="wording-text">rose</span>' in shown
    assert '<span class="wording-text">fell</span>' in shown


def test_drafts_of_newer_versions_are_not_read_here(vera: Client, study: Study) -> None:
    draft = make_item("memory-human-1", version=2, status="draft")
    assert vera.get(f"{PAGE}{draft.pk}/").status_code == 404
    Item.objects.filter(pk=draft.pk).update(status="accepted")
    assert vera.get(f"{PAGE}{draft.pk}/").status_code == 200


def test_members_of_the_field_are_led_to_the_page_of_the_test_case(
    vera: Client, study: Study
) -> None:
    item = study.items.get(key="memory-human-1")
    research_field = make_research_field("memory-research")
    Item.objects.filter(pk=item.pk).update(field=research_field.name)
    there = reverse("lab:item", args=[research_field.slug, item.pk])
    assert there not in vera.get(place(study)).content.decode()
    research_field.members.add(User.objects.get(username="vera"))
    assert there in vera.get(place(study)).content.decode()


def test_pausing_and_resuming_ask_for_a_reason(vera: Client, study: Study) -> None:
    row = study.study_items.get(item__key="memory-human-1")
    address = f"{place(study)}pause/"
    for act, is_paused in (("pause", True), ("resume", False)):
        refused = vera.post(address, {"act": act, "reason": " "})
        assert (refused.status_code, "Error:" in refused.content.decode()) == (422, True)
        assert vera.post(address, {"act": act, "reason": "A leak."}).status_code == 302
        row.refresh_from_db()
        assert (row.paused_at is not None) is is_paused
    assert AuditEvent.objects.filter(study="memory", actor="vera", reason="A leak.").count() == 2


def test_a_form_that_stayed_open_does_what_it_said(vera: Client, study: Study) -> None:
    address = f"{place(study)}pause/"
    for _ in range(2):  # the second time it is paused already
        vera.post(address, {"act": "pause", "reason": "A leak."})
    assert study.study_items.get(item__key="memory-human-1").paused_at is not None


def test_the_page_warns_before_participants_would_run_out(vera: Client) -> None:
    study = make_study("small", catch=2)
    study.members.add(make_user("ada"), through_defaults={"role": "curator"})
    vera.login(username="ada", password="ada")
    catch = study.items.filter(kind="catch")[0]
    shown = vera.get(f"/lab/studies/small/test-cases/{catch.pk}/pause/").content.decode()
    assert "2 catch trials a participant, but 1 such" in shown
    human = study.items.get(key="small-human-1")
    shown = vera.get(f"/lab/studies/small/test-cases/{human.pk}/pause/").content.decode()
    assert "run out" not in shown


def test_who_may_read_alone_may_not_pause(vera: Client, study: Study) -> None:
    study.memberships.update(role="auditor")
    assert "Pause" not in vera.get(place(study)).content.decode()
    assert vera.get(f"{place(study)}pause/").status_code == 403
    answer = vera.post(f"{place(study)}pause/", {"act": "pause", "reason": "A leak."})
    assert answer.status_code == 403
    assert study.study_items.filter(paused_at=None).count() == study.study_items.count()


def test_people_and_their_answers_stay_as_they_are(vera: Client, study: Study) -> None:
    make_participant(study)
    before = study.item_counts.order_by("pk").values_list("assigned", "judged", "valid")
    counted = list(before)
    vera.post(f"{place(study)}pause/", {"act": "pause", "reason": "A leak."})
    assert list(before.all()) == counted
