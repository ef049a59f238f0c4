"""The administration: what site administrators look up there, and that nobody else comes in."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from experiment.models import Item, Participant, Study
from experiment.services.study_versions import revise
from tests.experiment import people
from tests.factories import make_item, make_participant, make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db


# Test cases


def test_test_cases_are_looked_up_here_and_written_in_the_lab(boss: Client) -> None:
    item = make_item(field=make_research_field("cooking").name, status="draft")
    url = reverse("admin:experiment_item_change", args=[item.pk])
    shown = boss.get(url).text
    assert reverse("lab:item", args=["cooking", item.pk]) in shown
    assert boss.post(url, {"note": "changed"}).status_code == 403
    assert boss.get(reverse("admin:experiment_item_add")).status_code == 403
    gone = reverse("admin:experiment_item_delete", args=[item.pk])
    assert boss.post(gone, {"post": "yes"}).status_code == 403
    assert Item.objects.get().note == ""


def test_the_list_filters_by_version(boss: Client, django_assert_max_num_queries: Any) -> None:
    for n in range(12):
        make_item(f"item-{n}")
        make_item(f"item-{n}", version=2)
    url = reverse("admin:experiment_item_changelist")
    with django_assert_max_num_queries(12):
        shown = boss.get(f"{url}?status__exact=accepted&versions=latest").context["cl"]
    assert {item.version for item in shown.result_list} == {2}


# Studies


def test_a_study_is_looked_up_here_and_set_up_in_the_lab(boss: Client) -> None:
    study = make_study(recruitment="open")
    people.finish(study)
    study.refresh_from_db()
    revise(study, consent="Taking part is free.", reason="The board asked for it.")
    url = reverse("admin:experiment_study_change", args=[study.pk])
    shown = boss.get(url).text
    assert reverse("lab:study", args=[study.slug]) in shown
    assert "By choosing “I agree”" in shown  # the old wording can still be read
    assert "The board asked for it." in shown
    before = Study.objects.values().get()
    assert boss.post(url, {"title": "changed"}).status_code == 403
    assert boss.get(reverse("admin:experiment_study_add")).status_code == 403
    assert Study.objects.values().get() == before


def test_site_administrators_delete_a_study(boss: Client) -> None:
    study = make_study()
    boss.post(reverse("admin:experiment_study_delete", args=[study.pk]), {"post": "yes"})
    assert not Study.objects.exists()


# Who comes in, and what participants did


@pytest.mark.parametrize("permissions", [[], ["view_participant", "change_study", "view_item"]])
def test_only_site_administrators_come_in_by_the_labs_sign_in(permissions: list[str]) -> None:
    response = Client().get("/admin/", follow=True)
    assert response.redirect_chain[-1][0].startswith("/lab/sign-in/?next=")
    user = make_user("ruth", make_study(), is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    for page in ("index", "experiment_study_changelist", "experiment_participant_changelist"):
        assert client.get(reverse(f"admin:{page}")).status_code == 403
    assert client.get(reverse("admin:login")).status_code == 403


@pytest.mark.parametrize("model", ["participant", "trial", "judgment"])
def test_data_of_participants_are_read_only(boss: Client, model: str) -> None:
    participant = make_participant(make_study())
    trial = participant.trials.first()
    row = {"participant": participant, "trial": trial, "judgment": trial.judgment}[model]
    url = reverse(f"admin:experiment_{model}_change", args=[row.pk])
    shown = boss.get(url)
    assert shown.status_code == 200
    assert participant.withdrawal_code not in shown.text
    assert boss.post(url, {"comments": "changed"}).status_code == 403
    assert boss.get(reverse(f"admin:experiment_{model}_add")).status_code == 403
    assert boss.post(reverse(f"admin:experiment_{model}_delete", args=[row.pk])).status_code == 403
    listed = boss.get(reverse(f"admin:experiment_{model}_changelist"))
    assert listed.status_code == 200
    assert "delete_selected" not in listed.text
    assert Participant.objects.count() == 1
