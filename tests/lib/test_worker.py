"""The worker without a broker, and a process of its own for a job that a page asks for."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from experiment.domain.trial_query import TrialQuery
from experiment.models import Study, TrialExport
from experiment.services.export.jobs import ensure_exported
from lib.jobs import worker
from lib.jobs import workers as workers_service
from lib.jobs.models import Chore, LivingWorker
from scoring.models import ScoringRun
from tests.experiment.http_client import ROOT
from tests.factories import make_study
from tests.lib import waiting_job
from tests.processes import on_the_tests_database
from tests.scoring.lab.rows import ask

# Other processes look at the database: nothing is rolled back
pytestmark = pytest.mark.django_db(transaction=True)
TIMEOUT_S = 120  # a busy machine; nothing waits for it to pass
POLL_S = 0.02
PROCESS = """
import django
django.setup()
from scoring.models import ScoringRun
ScoringRun.runner = "tests.lib.waiting_job.run"
import sys
from lib.jobs.process import main
main(*sys.argv[1:])
"""
WORKER = f"""
import django, sys
django.setup()
from django.core.management import call_command
from lib.jobs import worker
worker.COMMAND = [sys.executable, "-c", {PROCESS!r}]
call_command("work")
"""


def until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(POLL_S)


class Workers:
    """Workers on the test's database, each at the head of a group of processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = on_the_tests_database(folder) | {waiting_job.FOLDER: str(folder)}
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, *(command or ("-c", WORKER))],
            cwd=ROOT,
            env=self.environment,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def begun(self) -> list[list[int]]:
        """Job and process of each piece of work that was begun."""
        file = self.folder / waiting_job.BEGUN
        lines = file.read_text().splitlines() if file.exists() else []
        return [[int(word) for word in line.split()] for line in lines]

    def let_end(self) -> None:
        (self.folder / waiting_job.GO).touch()

    def kill(self) -> None:
        for process in self.started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    made = Workers(tmp_path)
    yield made
    made.kill()


@pytest.fixture
def study() -> Study:
    return make_study(human=3, machine=2)


def status(job: ScoringRun | TrialExport) -> str:
    job.refresh_from_db()
    return job.status


def test_a_worker_does_what_is_asked_for_while_it_lives(workers: Workers, study: Study) -> None:
    assert not workers_service.is_taken(TrialExport)
    process = workers.start("manage.py", "work")
    until(lambda: workers_service.is_taken(TrialExport))
    job = ensure_exported(study, TrialQuery(kind="real"))
    until(lambda: status(job) == "finished")
    until(lambda: Chore.objects.exclude(done_at=None).exists())  # the day's chores as well
    process.send_signal(signal.SIGTERM)
    assert process.wait(TIMEOUT_S) == 0
    assert workers_service.living() == []
    with pytest.raises(ProcessLookupError):  # it has left no process behind
        os.killpg(process.pid, 0)


def test_a_worker_that_is_asked_to_end_puts_its_job_back_for_another(
    workers: Workers, study: Study
) -> None:
    job = ask(study)
    process = workers.start()
    until(workers.begun)
    process.send_signal(signal.SIGTERM)
    assert process.wait(TIMEOUT_S) == 0
    assert (status(job), job.attempts) == ("waiting", 0)
    workers.let_end()
    workers.start()
    until(lambda: status(job) == "finished")


def test_a_process_that_is_killed_at_work_leaves_the_job_to_the_next(
    workers: Workers, study: Study
) -> None:
    job = ask(study)
    process = workers.start()
    until(workers.begun)
    os.kill(workers.begun()[0][1], signal.SIGKILL)
    workers.let_end()
    until(lambda: status(job) == "finished")
    assert [pk for pk, _ in workers.begun()] == [job.pk, job.pk]
    assert process.poll() is None


def test_a_killed_worker_is_missed_at_once_and_another_takes_its_job(
    workers: Workers, study: Study
) -> None:
    job = ask(study)
    process = workers.start()
    until(workers.begun)
    assert workers_service.is_taken(ScoringRun)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not workers_service.is_taken(ScoringRun)
    assert LivingWorker.objects.count() == 1  # it could not sign off
    workers.let_end()
    workers.start()
    until(lambda: status(job) == "finished")


def test_each_job_is_done_by_only_one_of_two_workers(workers: Workers, study: Study) -> None:
    workers.let_end()
    jobs = [ask(study, f"lab/{n}") for n in range(8)]
    for _ in range(2):
        workers.start()
    until(lambda: not ScoringRun.objects.exclude(status="finished").exists())
    assert sorted(pk for pk, _ in workers.begun()) == [job.pk for job in jobs]


def test_kinds_take_turns_and_of_a_kind_the_oldest_comes_first(study: Study) -> None:
    first, second = ask(study), ask(study, "lab/other")
    export = ensure_exported(study, TrialQuery(kind="real"))
    assert worker.next_job() == export  # by name
    assert worker.next_job(after="experiment.trialexport") == first
    assert worker.next_job(after="scoring.scoringrun") == export
    ScoringRun.objects.filter(pk=first.pk).update(status="finished")
    assert worker.next_job(after="experiment.trialexport") == second
    TrialExport.objects.update(status="failed")
    assert worker.next_job(after="scoring.scoringrun") == second


def test_a_job_that_cannot_begin_fails_and_is_not_tried_for_ever(
    study: Study, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    job = ask(study)
    monkeypatch.setattr(ScoringRun, "runner", "scoring.services.nowhere.run")
    worker.do(job)
    assert status(job) == "failed"
    assert "ModuleNotFoundError" in job.error
    assert "Traceback" in caplog.text


def test_where_celery_does_the_work_no_other_worker_starts(settings: Any) -> None:
    settings.JOB_EXECUTOR = "celery"
    with pytest.raises(CommandError, match="JOB_EXECUTOR=celery"):
        call_command("work")


done: list[str] = []


def fail() -> None:
    raise LookupError("There is nothing to do.")


def succeed() -> None:
    done.append("done")


def test_chores_are_done_once_a_day_and_a_failed_one_again_after_an_hour(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.DAILY_CHORES = [f"{__name__}.fail", f"{__name__}.succeed"]
    done.clear()
    assert worker.are_chores_due()
    worker.do_due_chores()
    worker.do_due_chores()
    assert (done, worker.are_chores_due()) == (["done"], False)
    failed, good = Chore.objects.order_by("name")
    assert (failed.done_at, good.done_at is None) == (None, False)
    assert 20 < (good.next_at - failed.next_at).total_seconds() / 3600 < 24
    assert "There is nothing to do." in caplog.text


@pytest.mark.django_db
def test_a_job_may_wait_for_what_a_page_may_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """gunicorn tells its processes that they serve pages, whose limits would end a long job."""
    said, program = tmp_path / "said", tmp_path / "program"
    program.write_text(f"#!/bin/sh\nenv > {said}.new && mv {said}.new {said}\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setenv("SERVES_PAGES", "1")
    monkeypatch.setenv("DATABASE_LOCK_SECONDS", "9")

    worker.start_process(ask(make_study(human=1, machine=1)))

    end = time.monotonic() + TIMEOUT_S
    while not said.exists() and time.monotonic() < end:
        time.sleep(0.02)
    lines = said.read_text().splitlines()
    assert not [line for line in lines if line.startswith("SERVES_PAGES")]
    assert "DATABASE_LOCK_SECONDS=9" in lines  # what the operator says holds for all
