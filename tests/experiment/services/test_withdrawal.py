"""Withdrawing: what goes, what stays, and that nobody comes back."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from experiment.domain.trial_query import TrialQuery
from experiment.models import AuditEvent, Judgment, Participant, RecruitmentRecord, Study, Trial
from experiment.services import withdrawal
from experiment.services.export.trials import completed, count, first_rows
from experiment.services.withdrawal import (
    Reapplied,
    find_on_request,
    reapply_withdrawals,
    withdraw,
    withdraw_on_request,
)
from tests.databases import copy_to, restore
from tests.experiment.people import finish
from tests.factories import make_participant, make_study, make_user, recruited
from tests.storages import store_files_in

pytestmark = [pytest.mark.both, pytest.mark.django_db]
SAID = "Marked comment 7351"
# What an export's rows are known again by, whatever they answer
LINKS = [
    "participant",
    "seed",
    "consented_at",
    "started_at",
    "finished_at",
    "shown_at",
    "received_at",
]


@pytest.fixture(autouse=True)
def files(settings: Any, tmp_path: Any) -> None:
    store_files_in(settings, tmp_path)


def marked(study: Study) -> Participant:
    person = finish(study)
    recruited(person, "id-7351")
    Participant.objects.filter(pk=person.pk).update(comments=SAID)
    person.refresh_from_db()
    return person


def links(study: Study) -> set[tuple[str, Any]]:
    """All that the rows of an export say in these columns."""
    rows = first_rows(study, completed(study, TrialQuery("all", "real")), study.n_trials)
    assert len(rows) == study.n_trials
    return {(name, row[name]) for row in rows for name in LINKS if row[name] is not None}


@pytest.mark.drifts
def test_an_answer_can_be_changed_and_deleted_only_once_its_participant_withdrew(
    study: Study,
) -> None:
    make_participant(study)
    simulated = make_participant(study, kind="simulated")
    judgment = Judgment.objects.filter(trial__participant__kind="real").first()
    assert judgment is not None
    row = Judgment.objects.filter(pk=judgment.pk)
    marks = {"excluded_by", "flags", "id", "source_record"}
    for field in {field.name for field in Judgment._meta.concrete_fields} - marks:
        other = {"trial": Judgment.objects.filter(trial__participant=simulated)[0].trial}.get(field)
        with pytest.raises(IntegrityError), transaction.atomic():
            row.update(**{field: other if field == "trial" else changed(judgment, field)})
    with pytest.raises(IntegrityError, match="only when its participant"), transaction.atomic():
        row.delete()
    assert row.update(excluded_by="too_fast", flags="fast_page") == 1
    assert row.update(excluded_by="", flags="") == 1
    assert simulated.trials.first().judgment.delete()[0] == 1
    simulated.delete()


def changed(judgment: Judgment, field: str) -> Any:
    value = getattr(judgment, field)
    if isinstance(value, bool):
        return not value
    if field == "translated":
        return "text"
    if field == "side":
        return "A" if value == "B" else "B"
    if field == "received_at":
        return timezone.now()
    if field == "idempotency_key":
        return "0" * 32
    return (value or 0) + 1


def test_a_code_opens_nothing_in_another_study(study: Study) -> None:
    person = marked(study)
    assert withdraw(make_study("other"), person.withdrawal_code, timezone.now()) is None
    person.refresh_from_db()
    assert (person.stage, person.comments) == ("finished", SAID)


def test_a_withdrawal_that_keeps_answers_makes_them_anonymous(
    study: Study,
) -> None:
    Study.objects.update(withdrawal_policy="anonymise")
    study.refresh_from_db()
    person = marked(study)
    code, known = person.withdrawal_code, links(study)
    assert {name for name, _ in known} == set(LINKS)
    before = list(Judgment.objects.values_list("side", "correct", "confidence", "excluded_by"))
    assert withdraw(study, code, timezone.now()) is not None
    row = Participant.objects.get()
    assert not links(study) & known
    assert (row.stage, row.is_anonymous, row.excluded_by) == ("finished", True, person.excluded_by)
    assert (row.demographics, row.comments, row.external_source) == ({}, "", "")
    assert (row.enrollment_key, row.code_digest, row.started_at, row.finished_at) == (None,) * 4
    assert row.consented_at is not None
    assert (row.consented_at.day, row.consented_at.hour) == (1, 0)
    assert not RecruitmentRecord.objects.exists()
    after = Judgment.objects.values_list("side", "correct", "confidence", "excluded_by")
    assert list(after) == before
    for judgment in Judgment.objects.select_related("trial"):
        assert judgment.rt_ms is not None
        assert judgment.rt_ms % 1000 == 0
        assert judgment.received_at is judgment.viewport_width is judgment.trial.shown_at is None
    assert withdraw(study, code, timezone.now()) is None


def test_a_withdrawal_leaves_only_a_tombstone_with_a_pseudonym_and_a_time(
    study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    person, stays, now = marked(study), finish(study), timezone.now()
    withdraw(study, person.withdrawal_code, now)
    assert list(withdrawal.read_tombstones()) == [withdrawal.Tombstone(person.public_id, now)]
    call_command("chores", "withdrawals", json=True)
    assert '"tombstones": 1' in capsys.readouterr().out
    person.refresh_from_db()
    assert (person.stage, person.comments, person.external_source) == ("withdrawn", "", "")
    assert (person.demographics, person.cheated) == ({}, None)
    assert not RecruitmentRecord.objects.exists()
    assert set(Trial.objects.values_list("participant", flat=True)) == {stays.pk}
    assert count(study, TrialQuery("all", "real")) == study.n_trials


@pytest.mark.parametrize("policy", ["delete", "anonymise"])
def test_an_unfinished_participant_leaves_nothing_under_either_policy(
    study: Study, policy: str
) -> None:
    Study.objects.update(withdrawal_policy=policy)
    study.refresh_from_db()
    person = make_participant(study, judged=3)
    withdraw(study, person.withdrawal_code, timezone.now())
    assert Participant.objects.get().stage == "withdrawn"
    assert not Judgment.objects.exists()


@pytest.mark.parametrize("by_id", [True, False])
def test_a_researcher_withdraws_a_participant_with_a_reason_in_the_trail(
    study: Study, by_id: bool
) -> None:
    person, researcher = marked(study), make_user("ada")
    found = find_on_request(study, "id-7351" if by_id else str(person.public_id))
    assert found == [person]
    withdraw_on_request(study, found, timezone.now(), by=researcher, reason="Asked by mail.")
    event = AuditEvent.objects.get(action="withdrawn")
    assert (event.actor, event.reason, event.study) == ("ada", "Asked by mail.", study.slug)
    assert "7351" not in str(event.details)
    assert count(study, TrialQuery()) == 0
    assert find_on_request(study, "id-7351") == []
    assert find_on_request(study, "nobody") == []


@pytest.mark.parametrize("name", ["id-7351", "6a8e1c8a-6f0b-4a57-9d0b-8e1f0f5f7a11"])
def test_every_attempt_is_found_at_each_site_also_under_an_id_like_a_pseudonym(
    study: Study, name: str
) -> None:
    first, again, elsewhere, other = (make_participant(study) for _ in range(4))
    recruited(first, name)
    recruited(again, name)
    recruited(elsewhere, name, "sona")
    recruited(other, "another")
    assert find_on_request(study, name) == [first, again, elsewhere]
    assert find_on_request(study, str(again.public_id)) == [first, again]
    withdraw_on_request(study, [first, again], timezone.now(), by=make_user("ada"), reason="Asked.")
    assert set(study.participants.filter(stage="withdrawn")) == {first, again}


def test_a_short_pseudonym_finds_its_participant_as_long_as_it_is_nobody_elses(
    study: Study,
) -> None:
    first, again, other = (make_participant(study) for _ in range(3))
    recruited(first, "p-1")
    recruited(again, "p-1")
    short = str(first.public_id)[:8]
    assert find_on_request(study, short) == [first, again]
    assert find_on_request(study, short[:7]) == []
    elsewhere = make_participant(make_study(slug="elsewhere", recruitment="open"))
    Participant.objects.filter(pk=elsewhere.pk).update(public_id=f"{short}{uuid4().hex[8:]}")
    assert find_on_request(study, short.upper()) == [first, again]
    Participant.objects.filter(pk=other.pk).update(public_id=f"{short}{uuid4().hex[8:]}")
    assert find_on_request(study, short) == []
    recruited(other, short)
    assert find_on_request(study, short) == [other]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("policy", ["delete", "anonymise"])
def test_a_restored_backup_brings_nobody_back(study: Study, policy: str, tmp_path: Path) -> None:
    Study.objects.update(withdrawal_policy=policy)
    study.refresh_from_db()
    person, stays = marked(study), finish(study)
    backup = tmp_path / "backup"
    now = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
    copy_to(backup)
    withdraw(study, person.withdrawal_code, now)
    restore(backup)
    assert Participant.objects.filter(comments=SAID).exists()
    assert reapply_withdrawals() == Reapplied(1, 1)
    assert not Participant.objects.filter(comments=SAID).exists()
    assert not RecruitmentRecord.objects.exists()
    assert Judgment.objects.filter(trial__participant=stays).count() == study.n_trials
    assert reapply_withdrawals() == Reapplied(1, 0)
    if policy == "delete":
        assert Participant.objects.get(pk=person.pk).withdrawn_at == now
