"""The Privacy page: a withdrawal on request, the policy, and the end of retention."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from experiment.models import (
    AuditEvent,
    Judgment,
    Participant,
    Purge,
    RecruitmentRecord,
    Study,
)
from experiment.services.retention import run
from experiment.services.study_setup import change_study
from tests.experiment.people import finish
from tests.factories import make_participant, make_study, make_user, recruited

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(recruitment="open")


def address(name: str) -> str:
    return reverse(f"lab:{name}", args=["memory"])


def test_a_withdrawal_on_request_shows_the_participant_and_awaits_confirmation(
    study: Study, ruth: Client
) -> None:
    person = finish(study)
    recruited(person, "p-77")
    asked = {"name": "p-77", "reason": "Asked by mail."}
    url = address("privacy_withdraw")
    assert ruth.post(url, {"name": "p-77"}).status_code == 422
    assert ruth.post(url, asked | {"name": "nobody"}).status_code == 422
    assert str(person.public_id) in ruth.post(url, asked).text
    assert Participant.objects.get().stage == "finished"
    assert ruth.post(url, asked | {"confirm": "1"}).status_code == 422
    ticked = {"confirm": "1", "participant": str(person.public_id)}
    assert ruth.post(url, asked | ticked).status_code == 302
    assert Participant.objects.get().stage == "withdrawn"
    assert AuditEvent.objects.filter(action="withdrawn").get().actor == "ruth"


def test_attempts_from_one_site_are_ticked_and_those_from_two_are_not(
    study: Study, ruth: Client
) -> None:
    first, again = make_participant(study), make_participant(study)
    recruited(first, "p-77")
    recruited(again, "p-77")
    asked, url = {"name": "p-77", "reason": "Asked."}, address("privacy_withdraw")
    assert ruth.post(url, asked).text.count(" checked>") == 2
    elsewhere = make_participant(study)
    recruited(elsewhere, "p-77", "sona")
    page = ruth.post(url, asked).text
    assert "channel sona" in page
    assert " checked>" not in page
    ticked = {"confirm": "1", "participant": [str(first.public_id), str(again.public_id)]}
    assert ruth.post(url, asked | ticked).status_code == 302
    assert set(study.participants.filter(stage="withdrawn")) == {first, again}


def test_data_are_purged_past_their_day_and_not_before(study: Study, ruth: Client) -> None:
    person = finish(study)
    recruited(person, "p-77")
    ruth.post(address("privacy_purge"), {"confirm": study.slug})
    assert RecruitmentRecord.objects.exists()
    with pytest.raises(CommandError, match="has no retention date"):
        call_command("chores", "purge", study.slug)
    Study.objects.update(retain_until=timezone.localdate() + timedelta(days=1))
    with pytest.raises(CommandError, match="has not passed"):
        call_command("chores", "purge", study.slug)
    past = timezone.localdate() - timedelta(days=1)
    ruth.post(
        address("privacy_policy"),
        {"withdrawal_policy": "delete", "retain_until": past.isoformat()},
    )
    call_command("chores", "purge", study.slug, dry_run=True)
    assert RecruitmentRecord.objects.exists()
    ruth.post(address("privacy_purge"), {"confirm": "another"})
    assert RecruitmentRecord.objects.exists()
    assert "with recruitment IDs 1" in ruth.get(address("privacy")).text
    for _ in range(2):
        page = ruth.post(address("privacy_purge"), {"confirm": study.slug}, follow=True)
        assert "No worker is running" in page.text
    assert RecruitmentRecord.objects.exists()
    assert "Waiting for the worker" in ruth.get(address("privacy_purge_live")).text
    run(Purge.objects.get())
    assert "Done at" in ruth.get(address("privacy_purge_live")).text
    row = Participant.objects.get()
    assert (row.demographics, row.is_anonymous, row.stage) == ({}, True, "finished")
    assert row.public_id != person.public_id
    assert not RecruitmentRecord.objects.exists()
    assert Judgment.objects.count() == study.n_trials
    event = AuditEvent.objects.get(action="purged")
    assert (event.actor, event.details["participants"]) == ("ruth", 1)
    assert AuditEvent.objects.get(action="work_started").actor == "ruth"


def test_deletion_that_participants_agreed_to_stays_promised(study: Study, ruth: Client) -> None:
    url = address("privacy_policy")
    keep, delete = {"withdrawal_policy": "anonymise"}, {"withdrawal_policy": "delete"}
    assert ruth.post(url, keep).status_code == 302  # nobody has agreed yet
    assert ruth.post(url, delete).status_code == 302
    finish(study)
    page = ruth.post(url, keep)
    assert page.status_code == 422
    assert page.context["policy_form"].errors.keys() == {"withdrawal_policy"}
    study.refresh_from_db()
    assert study.version == 1
    with pytest.raises(ValidationError, match="real participants"):
        change_study(study, keep, by=make_user("sam"))
    study.refresh_from_db()
    assert study.withdrawal_policy == "delete"
    Study.objects.update(withdrawal_policy="anonymise")
    assert ruth.post(url, delete).status_code == 302  # more than was promised
