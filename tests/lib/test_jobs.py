"""Jobs of any kind, on the kind that there is: what is not about one kind's work."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError

from experiment.models import Study
from lib.jobs import leases, tasks
from lib.jobs.leases import Lease, run_job
from lib.jobs.models import NOBODY
from lib.jobs.queue import enqueue, kinds
from lib.jobs.tasks import Requeuer
from scoring.models import ScoringRun
from tests.experiment.http_client import ROOT
from tests.factories import make_study, make_user
from tests.processes import on_the_tests_database
from tests.scoring.made_runs import ask

# Other processes look at the database: nothing is rolled back
pytestmark = [pytest.mark.both, pytest.mark.django_db(transaction=True)]

DIE = """
import django, os, signal, sys
django.setup()
from lib.jobs.leases import run_job
from scoring.models import ScoringRun

def work(job, lease):
    if sys.argv[2] == "advancing":
        lease.advance(done=1)
    lease.write(total=7)  # progress alone: the next worker begins where this one did
    os.kill(os.getpid(), signal.SIGKILL)

run_job(ScoringRun.objects.get(pk=sys.argv[1]), work)
"""


@pytest.fixture
def job() -> ScoringRun:
    return ask(make_study(human=3, machine=2))


def kill_a_worker_of(job: ScoringRun, folder: Path, how: str = "") -> None:
    command = [sys.executable, "-c", DIE, str(job.pk), how]
    done = subprocess.run(command, cwd=ROOT, env=on_the_tests_database(folder))
    assert done.returncode == -signal.SIGKILL
    job.refresh_from_db()
    assert job.status == "running"


def requeue() -> list[int]:
    return [pk for _, pk in Requeuer(lambda kind, pk: None, lambda kind: 0).requeue()]


def test_a_job_that_has_killed_its_worker_three_times_ends_as_failed_and_says_so(
    job: ScoringRun, tmp_path: Path
) -> None:
    for attempt in (1, 2, 3):
        assert requeue() == [job.pk]
        kill_a_worker_of(job, tmp_path)
        assert job.attempts == attempt
    assert requeue() == []
    job.refresh_from_db()
    assert (job.status, job.worker) == ("failed", "")
    assert "killed or stopped responding 3 times" in job.error
    leases.reopen(job)  # a person may try again
    assert (job.status, job.attempts, job.error) == ("waiting", 0, "")


def test_taking_a_job_that_killed_its_workers_ends_it_as_failed(job: ScoringRun) -> None:
    ScoringRun.objects.update(
        status="running", worker="elsewhere:1:1.1:aaaa", heartbeat_at=None, attempts=3
    )
    assert leases.take(job) is None
    job.refresh_from_db()
    assert job.status == "failed"
    assert "the last time on elsewhere" in job.error


def test_a_job_that_advances_between_kills_is_tried_again(job: ScoringRun, tmp_path: Path) -> None:
    ScoringRun.objects.update(attempts=2)
    kill_a_worker_of(job, tmp_path, "advancing")
    assert job.attempts == 1
    assert requeue() == [job.pk]


def test_a_stop_that_was_asked_for_goes_before_the_verdict_on_a_killer(job: ScoringRun) -> None:
    ScoringRun.objects.update(
        status="running", worker="elsewhere:1:1.1:aaaa", attempts=3, cancel_requested=True
    )
    assert run_job(job, lambda job, lease: None).status == "cancelled"


def test_the_work_decides_how_a_job_ends(job: ScoringRun, caplog: pytest.LogCaptureFixture) -> None:
    def release(job: ScoringRun, lease: Lease) -> None:
        lease.release()

    def refuse(job: ScoringRun, lease: Lease) -> None:
        raise LookupError("There is nothing to do.")

    assert run_job(job, release).status == "waiting"
    assert job.attempts == 0
    done = run_job(job, refuse, expected=(LookupError,))
    assert (done.status, done.error) == ("failed", "There is nothing to do.")
    leases.reopen(job)
    with pytest.raises(LookupError):
        run_job(job, refuse)
    job.refresh_from_db()
    assert (job.status, job.error) == ("failed", "LookupError: There is nothing to do.")
    assert "Traceback" in caplog.text

    def interrupt(job: ScoringRun, lease: Lease) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_job(leases.reopen(job), interrupt)
    job.refresh_from_db()
    assert (job.status, job.worker) == ("waiting", "")
    assert run_job(leases.reopen(job), lambda job, lease: None).status == "finished"


def test_the_sites_kinds_of_jobs_have_runners_that_can_be_imported() -> None:
    from django.utils.module_loading import import_string

    runners: list[Any] = [import_string(kind.runner) for kind in kinds()]
    assert ScoringRun in kinds()
    assert all(callable(runner) for runner in runners)


def test_a_worker_looks_after_the_jobs_of_its_apps_alone(job: ScoringRun, settings: Any) -> None:
    settings.JOB_APPS = ["analysis"]
    assert (kinds() == [], requeue()) == (False, [])
    settings.JOB_APPS = ["scoring"]
    assert {kind._meta.app_label for kind in kinds()} == {"scoring"}
    assert requeue() == [job.pk]


def test_an_interrupt_that_breaks_the_connection_still_releases_the_job(
    job: ScoringRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = Lease.release, []

    def broken_at_first(lease: Lease) -> None:
        calls.append(lease)
        if len(calls) == 1:
            raise OperationalError("the connection is lost")
        real(lease)

    def interrupt(job: ScoringRun, lease: Lease) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Lease, "release", broken_at_first)
    with pytest.raises(KeyboardInterrupt):
        run_job(job, interrupt)
    job.refresh_from_db()
    assert (job.status, job.worker) == ("waiting", "")


# Whose job is next


def asked_by(person: int, study: Study) -> ScoringRun:
    run = ask(study)
    enqueue(run, person)
    return run


def test_the_person_served_longest_ago_comes_first_however_much_others_ask() -> None:
    study = make_study(human=3, machine=2)
    ann, bob = make_user("ann", study).pk, make_user("bob", study).pk
    of_ann = [asked_by(ann, study) for _ in range(3)]
    of_bob = [asked_by(bob, study) for _ in range(2)]
    of_nobody = [asked_by(NOBODY, study) for _ in range(2)]
    took = []
    while (job := leases.due(ScoringRun.objects.all()).first()) is not None:
        took.append(job)
        run_job(job, lambda job, lease: None)
    first = [of_ann[0], of_bob[0], of_nobody[0]]
    assert took == [*first, of_ann[1], of_bob[1], of_nobody[1], of_ann[2]]


def test_a_slice_is_a_turn_and_a_message_leaves_its_place_to_whose_turn_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = make_study(human=3, machine=2)
    long, other = (asked_by(make_user(name, study).pk, study) for name in ("ann", "bob"))
    did: list[int] = []

    def slice_of(job: ScoringRun, lease: Lease) -> None:
        did.append(job.pk)
        lease.release()

    monkeypatch.setattr(tasks, "send", lambda kind, pk: None)
    monkeypatch.setattr(tasks, "import_string", lambda path: lambda job: run_job(job, slice_of))
    for _ in range(4):
        tasks.work("scoring.scoringrun", long.pk)
    assert did == [long.pk, other.pk, long.pk, other.pk]
