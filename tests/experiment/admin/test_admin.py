"""The administration: what curators and researchers can change there, and what no one can."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from experiment.models import Item, Judgment, Participant, Study
from tests.experiment import people
from tests.factories import make_item, make_participant, make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss(client: Client) -> Client:
    client.force_login(make_user("boss", is_staff=True, is_superuser=True))
    return client


def said(response: Any) -> str:
    return " ".join(str(message) for message in get_messages(response.wsgi_request))


# Test cases


def test_test_cases_are_looked_up_here_and_written_in_the_lab(boss: Client) -> None:
    item = make_item(field=make_research_field("cooking").name, status="draft")
    url = reverse("admin:experiment_item_change", args=[item.pk])
    shown = boss.get(url).content.decode()
    assert reverse("lab:item", args=["cooking", item.pk]) in shown
    assert boss.post(url, {"note": "changed"}).status_code == 403
    assert boss.get(reverse("admin:experiment_item_add")).status_code == 403
    gone = reverse("admin:experiment_item_delete", args=[item.pk])
    assert boss.post(gone, {"post": "yes"}).status_code == 403
    assert Item.objects.get().note == ""


def test_a_test_case_of_no_field_has_no_page_in_the_lab(boss: Client) -> None:
    url = reverse("admin:experiment_item_change", args=[make_item().pk])
    assert "/lab/fields/" not in boss.get(url).content.decode()


def test_the_list_filters_by_version(boss: Client, django_assert_max_num_queries: Any) -> None:
    for n in range(12):
        make_item(f"item-{n}")
        make_item(f"item-{n}", version=2)
    url = reverse("admin:experiment_item_changelist")
    with django_assert_max_num_queries(12):
        shown = boss.get(f"{url}?status__exact=accepted&versions=latest").context["cl"]
    assert {item.version for item in shown.result_list} == {2}


# Studies


def study_form(study: Study, **changes: Any) -> dict[str, Any]:
    names = (
        "title briefing human_items machine_items catch_items policy min_rt_ms min_rt_clock "
        "exclude_untouched fast_page_ms hidden_flag_ms "
        "contact live_minutes resume_hours "
        "field ethics_number ethics_body ethics_contact "
        "language abstract_language debriefing external_id_days"
    )
    form = {name: getattr(study, name) for name in names.split()}
    rules = ("missed_catch", "cheating", "recognised")
    form |= {f"exclude_{rule}": "on" for rule in rules}
    switches = ("ratings_required", "reading_aid", "debrief_catch_trials")
    form |= {name: "on" for name in switches if getattr(study, name)}
    form |= {
        "demographic_fields": study.demographic_fields,
        "consent_text": study.consent.text.replace("\n", "\r\n"),
        "pinned_items": list(study.study_items.values_list("item", flat=True)),
        "target_valid": "",
        "members": [],
        "consent_versions-TOTAL_FORMS": "0",
        "consent_versions-INITIAL_FORMS": "0",
        "versions-TOTAL_FORMS": "0",
        "versions-INITIAL_FORMS": "0",
    }
    return form | changes


def save_study(client: Client, study: Study, **changes: Any) -> Any:
    url = reverse("admin:experiment_study_change", args=[study.pk])
    response = client.post(url, study_form(study, **changes))
    assert response.status_code == 302, response.context["adminform"].form.errors
    study.refresh_from_db()
    return response


def test_an_unchanged_study_stays_as_it_is(boss: Client) -> None:
    study = make_study()
    before = Study.objects.values().get(), list(study.study_items.values_list("pk", flat=True))
    save_study(boss, study)
    assert (
        Study.objects.values().get(),
        list(study.study_items.values_list("pk", flat=True)),
    ) == before
    assert study.consent_versions.count() == 1


def test_a_changed_consent_text_is_a_new_version(boss: Client) -> None:
    study = make_study()
    participant = make_participant(study)
    response = save_study(
        boss, study, consent_text="Taking part is voluntary.\r\nAll is anonymous."
    )
    assert "Version 2 of the consent text" in said(response)
    assert (study.consent.number, study.consent.text) == (
        2,
        "Taking part is voluntary.\nAll is anonymous.",
    )
    participant.refresh_from_db()
    assert participant.consent_version.number == 1
    shown = boss.get(reverse("admin:experiment_study_change", args=[study.pk])).content.decode()
    assert "By choosing “I agree”" in shown  # the old wording can still be read


def test_items_are_pinned_and_unpinned(boss: Client) -> None:
    study = make_study()
    _first, *others = study.study_items.values_list("item", flat=True)
    new = make_item("extra")
    save_study(boss, study, pinned_items=[*others, new.pk])
    assert set(study.items.values_list("pk", flat=True)) == {*others, new.pk}


def test_only_one_accepted_version_of_an_item_can_be_pinned(boss: Client) -> None:
    study = make_study()
    url = reverse("admin:experiment_study_change", args=[study.pk])
    pinned = list(study.study_items.values_list("item", flat=True))
    second = make_item("memory-human-1", version=2, status="draft")
    response = boss.post(url, study_form(study, pinned_items=[*pinned, second.pk]))
    assert "not one of the available choices" in str(response.context["adminform"].form.errors)
    Item.objects.filter(pk=second.pk).update(status="accepted")
    response = boss.post(url, study_form(study, pinned_items=[*pinned, second.pk]))
    assert "one version only of: memory-human-1" in str(response.context["adminform"].form.errors)
    assert study.items.count() == len(pinned)


def test_a_retired_item_stays_pinned_until_it_is_taken_out(boss: Client) -> None:
    study = make_study(recruitment="open", human=6)
    study.items.filter(key="memory-human-1").update(status="retired")
    response = save_study(boss, study, title="Another title")
    assert study.title == "Another title"
    assert study.items.filter(key="memory-human-1").exists()
    assert "recruiting, but: 6 human trials a participant, but 5 such test cases" in said(response)


def test_changed_rules_are_applied_again(boss: Client) -> None:
    study = make_study()
    cheater = make_participant(study, cheated=True, excluded_by="admitted_cheating")
    form = study_form(study, min_rt_ms=80_000)
    del form["exclude_cheating"]
    response = boss.post(reverse("admin:experiment_study_change", args=[study.pk]), form)
    assert "the exclusion of 1 participants and of 11 trials changed" in said(response)
    cheater.refresh_from_db()
    assert cheater.excluded_by == ""
    assert set(Judgment.objects.values_list("excluded_by", flat=True)) == {"too_fast"}


@pytest.mark.parametrize(
    "change", [{"min_rt_ms": 90_000}, {"consent_text": "Another text."}, {"pinned_items": "fewer"}]
)
def test_with_real_participants_a_change_asks_for_a_reason_and_becomes_a_version(
    boss: Client, change: dict[str, Any]
) -> None:
    study = make_study(recruitment="open")
    people.finish(study)
    study.refresh_from_db()
    url = reverse("admin:experiment_study_change", args=[study.pk])
    assert "reason" in boss.get(url).context["adminform"].form.fields
    if "pinned_items" in change:
        change = {"pinned_items": list(study.study_items.values_list("item", flat=True))[1:]}
    refused = boss.post(url, study_form(study, **change))
    assert refused.status_code == 200
    assert list(refused.context["adminform"].form.errors) == ["reason"]
    assert study.versions.count() == 1
    assert not Judgment.objects.exclude(excluded_by="").exists()
    response = save_study(boss, study, reason="The board asked for it.", **change)
    version = study.versions.get(number=2)
    assert (version.reason, version.made_by.username) == ("The board asked for it.", "boss")
    assert "This is version 2" in said(response)
    assert "The board asked for it." in boss.get(url).content.decode()
    # Whatever is no rule, consent or item still changes freely
    save_study(boss, study, title="Another title", **change)
    assert (study.title, study.versions.count()) == ("Another title", 2)


def test_a_study_is_added_with_its_consent_and_its_author_as_member(boss: Client) -> None:
    add = reverse("admin:experiment_study_add")
    initial = boss.get(add).context["adminform"].form.initial
    assert "choose the version that is the original" in initial["briefing"]
    assert len(initial["demographic_fields"]) == 5
    model = make_study("model")
    form = study_form(
        model, slug="fresh", title="Fresh", pinned_items=[], consent_text=initial["consent_text"]
    )
    boss.post(add, form)
    fresh = Study.objects.get(slug="fresh")
    assert (fresh.recruitment, fresh.consent.number) == ("draft", 1)
    assert fresh.members.get().username == "boss"


@pytest.mark.parametrize("permissions", [[], ["view_participant", "change_study", "view_item"]])
def test_only_site_administrators_come_in(permissions: list[str]) -> None:
    user = make_user("ruth", make_study(), is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    for page in ("index", "experiment_study_changelist", "experiment_participant_changelist"):
        assert client.get(reverse(f"admin:{page}")).status_code == 403
    assert client.get(reverse("admin:login")).status_code == 403


@pytest.mark.parametrize("model", ["participant", "trial", "judgment"])
def test_what_participants_did_is_read_only(boss: Client, model: str) -> None:
    participant = make_participant(make_study())
    trial = participant.trials.first()
    row = {"participant": participant, "trial": trial, "judgment": trial.judgment}[model]
    url = reverse(f"admin:experiment_{model}_change", args=[row.pk])
    shown = boss.get(url)
    assert shown.status_code == 200
    assert participant.withdrawal_code not in shown.content.decode()
    assert boss.post(url, {"comments": "changed"}).status_code == 403
    assert boss.get(reverse(f"admin:experiment_{model}_add")).status_code == 403
    assert boss.post(reverse(f"admin:experiment_{model}_delete", args=[row.pk])).status_code == 403
    listed = boss.get(reverse(f"admin:experiment_{model}_changelist"))
    assert listed.status_code == 200
    assert "delete_selected" not in listed.content.decode()
    assert Participant.objects.count() == 1


def test_the_administration_asks_for_the_labs_sign_in(client: Client) -> None:
    response = client.get("/admin/", follow=True)
    assert response.redirect_chain[-1][0].startswith("/lab/sign-in/?next=")
