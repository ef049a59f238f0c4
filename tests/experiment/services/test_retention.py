"""The end of retention: some participants at a time, whoever dies over it."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from experiment.models import AuditEvent, Participant, Purge, RecruitmentRecord, Study
from experiment.services import retention
from experiment.services.retention import NotDueError, ask, run
from experiment.services.work import stop
from lib.jobs import leases
from tests.experiment.http_client import run_until_killed
from tests.factories import make_participant, make_study, make_user, recruited
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db(transaction=True)
PAST = timezone.localdate() - timedelta(days=1)
DIE = """
import django, os, signal, sys
django.setup()
from experiment.models import Purge
from experiment.services import retention

def die(person, study, first=retention.anonymise):
    if done:
        os.kill(os.getpid(), signal.SIGKILL)
    first(person, study)
    done.append(person)

done = []
retention.anonymise, retention.CHUNK = die, 1
retention.run(Purge.objects.get(pk=sys.argv[1]))
"""


@pytest.fixture
def study(settings: Any, tmp_path: Any) -> Study:
    store_files_in(settings, tmp_path)
    study = make_study(recruitment="open", retain_until=PAST)
    for n in range(5):
        recruited(make_participant(study, comments="I am 7351."), f"p-{n}")
    return study


def left(study: Study) -> int:
    return int(study.participants.filter(is_anonymous=False).count())


def purged() -> list[int]:
    events = AuditEvent.objects.filter(action="purged")
    return [event.details["participants"] for event in events]


@pytest.mark.parametrize("goes_on", ["a worker", "the command"])
def test_after_a_kill_the_next_one_goes_on_with_those_who_are_left(
    study: Study, goes_on: str
) -> None:
    job = ask(study, timezone.localdate(), make_user("ada", study))
    run_until_killed(DIE, job.pk)
    assert left(study) == 4  # each in a transaction of its own
    assert RecruitmentRecord.objects.count() == 4
    assert list(leases.stale(Purge.objects.all())) == [job]
    job.refresh_from_db()
    assert (job.done, job.total, purged()) == (1, 5, [])
    if goes_on == "a worker":
        run(job)
    else:
        call_command("chores", "purge", study.slug)
    job.refresh_from_db()
    assert (job.status, job.done, job.total) == ("finished", 5, 5)
    assert (left(study), RecruitmentRecord.objects.count(), purged()) == (0, 0, [5])
    assert not Participant.objects.exclude(comments="").exists()
    assert AuditEvent.objects.get(action="purged").actor == "ada"
    run(job)  # over
    assert purged() == [5]


@pytest.mark.parametrize("n_some", [1, 2, 25])
def test_no_transaction_holds_more_than_some_participants(
    study: Study, n_some: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits: list[int] = []
    forget = retention.forget_copies
    monkeypatch.setattr(retention, "CHUNK", n_some)

    def counting(study: Study) -> None:
        assert connection.in_atomic_block
        commits.append(left(study))
        forget(study)

    monkeypatch.setattr(retention, "forget_copies", counting)
    job = run(ask(study, timezone.localdate()))
    assert job.status == "finished"
    assert commits == [*range(5 - n_some, 0, -n_some), 0]


def test_it_stops_between_participants_and_what_is_done_stays(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "CHUNK", 2)
    job, ada = ask(study, timezone.localdate()), make_user("ada", study)
    forget = retention.forget_copies

    def stopping(study: Study) -> None:
        forget(study)
        Purge.objects.update(cancel_requested=True)

    monkeypatch.setattr(retention, "forget_copies", stopping)
    assert run(job).status == "cancelled"
    assert (left(study), purged()) == (3, [])
    monkeypatch.setattr(retention, "forget_copies", forget)
    again = ask(study, timezone.localdate(), ada)
    assert run(again).status == "finished"
    assert (left(study), purged()) == (0, [3])
    assert stop(again, ada).status == "finished"


def test_a_day_that_is_put_off_meanwhile_keeps_the_data(study: Study) -> None:
    job = ask(study, timezone.localdate())
    Study.objects.update(retain_until=timezone.localdate())
    job = run(job)
    assert (job.status, left(study), purged()) == ("failed", 5, [])
    assert "has not ended" in job.error
    study.refresh_from_db()
    with pytest.raises(NotDueError):
        ask(study, timezone.localdate())


def test_one_is_under_way_at_a_time(study: Study) -> None:
    ask(study, timezone.localdate())
    with pytest.raises(ValidationError):
        ask(study, timezone.localdate())
    assert Purge.objects.count() == 1
