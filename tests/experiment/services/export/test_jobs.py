"""Exports that workers make: the bytes of a direct export, never of an earlier state, nothing of those who withdrew."""

import hashlib
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from experiment.domain.exclusion import Rules
from experiment.domain.trial_query import TrialQuery
from experiment.models import Participant, Study, TrialExport
from experiment.services.counting import raise_revision, sweep
from experiment.services.export import files, jobs
from experiment.services.export import trials as trial_rows
from experiment.services.export.files import Blocks
from experiment.services.export.jobs import delete_exports
from experiment.services.export.trials import data_state
from experiment.services.study_versions import revise
from experiment.services.withdrawal import withdraw
from lib.jobs import leases
from lib.jobs.leases import Lease
from tests.experiment import people
from tests.experiment.http_client import ROOT, database_url
from tests.factories import make_participant, make_study
from tests.storages import store_files_in

# The worker's progress is written by a connection of its own: nothing is rolled back
pytestmark = pytest.mark.django_db(transaction=True)

DIE = """
import django, os, signal, sys
django.setup()
from experiment.models import TrialExport
from experiment.services.export import jobs

jobs.data_state = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
jobs.run(TrialExport.objects.get(pk=sys.argv[1]))
"""


@pytest.fixture(autouse=True)
def sent(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[TrialExport]:
    """The jobs that workers were sent for."""
    settings.JOB_EXECUTOR = "celery"
    store_files_in(settings, tmp_path)
    sent: list[TrialExport] = []
    monkeypatch.setattr(jobs, "enqueue", sent.append)
    return sent


@pytest.fixture
def study() -> Study:
    study = make_study(recruitment="open")
    make_participant(study, comments="naïve", published_id="=1+1")
    make_participant(study, judged=3)
    return study


def address(set_name: str = "all") -> str:
    return reverse("lab:export_download", args=["memory"]) + f"?set={set_name}"


def direct(study: Study, set_name: str = "all") -> bytes:
    file = io.BytesIO()
    files.export_trials(study, TrialQuery(set_name), file)
    return file.getvalue()


def ensure(study: Study, set_name: str = "all") -> TrialExport:
    return jobs.ensure_exported(study, TrialQuery(set_name))


def content(job: TrialExport) -> bytes:
    with jobs.open_file(job) as file:
        return file.read()


def stored(tmp_path: Path) -> list[Path]:
    return [path for path in tmp_path.rglob("*") if path.is_file()]


def exported(tmp_path: Path) -> list[Path]:
    return [path for path in stored(tmp_path) if "exports" in path.parts]


@pytest.mark.parametrize("set_name", ["all", "analysis"])
def test_a_worker_writes_the_bytes_of_a_direct_export(
    study: Study, set_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_rows, "ROWS", 11)
    made = jobs.run(ensure(study, set_name))
    expected = direct(study, set_name)
    assert (made.status, content(made)) == ("finished", expected)
    assert made.manifest["sha256"] == hashlib.sha256(expected).hexdigest()
    assert made.rows == made.done == made.total == expected.count(b"\n") - 1


def test_a_click_waits_for_the_worker_and_then_gets_the_file(
    ruth: Client, study: Study, sent: list[TrialExport], settings: Any
) -> None:
    for _ in range(2):
        page = ruth.get(address(), follow=True)
    assert len(sent) == 1
    assert "Exporting the trials" in page.content.decode()
    jobs.run(sent[0])
    live = ruth.get(reverse("lab:export_live", args=["memory", sent[0].pk])).content.decode()
    assert reverse("lab:export_file", args=["memory", sent[0].pk]) in live
    response = ruth.get(address(), follow=True)
    settings.JOB_EXECUTOR = "inline"
    now = ruth.get(address())
    assert response.getvalue() == now.getvalue() == direct(study)
    for header in ("Content-Type", "Content-Disposition", "Cache-Control"):
        assert response[header] == now[header]
    assert len(sent) == 1


@pytest.mark.parametrize("name", ["export_job", "export_live", "export_file", "export_retry"])
def test_an_export_of_others_does_not_exist(ruth: Client, study: Study, name: str) -> None:
    theirs = make_study("theirs")
    job = jobs.run(ensure(theirs))
    ask = ruth.post if name == "export_retry" else ruth.get
    for slug in ("theirs", "memory"):
        assert ask(reverse(f"lab:{name}", args=[slug, job.pk])).status_code == 404


def change_rows(study: Study, **values: Any) -> None:
    """Change a finisher's own row, and say so as every service does."""
    Participant.objects.filter(stage="finished").update(**values)
    raise_revision(study, "real")


def go_on(study: Study) -> None:
    person = people.start(study)
    ensure(study)
    people.answer(person, until=1)


@pytest.mark.parametrize(
    "change",
    [
        lambda study: make_participant(study),
        go_on,
        lambda study: withdraw(study, Participant.objects.last().withdrawal_code, timezone.now()),
        lambda study: change_rows(study, policy="other"),
        lambda study: revise(study, rules=Rules(min_rt_ms=100_000)),
        lambda study: study.items.filter(trials__position=1).update(subfield="Other"),
        lambda study: Study.objects.update(
            ethics_body="A board", ethics_number="7", ethics_contact="a@b.org"
        ),
    ],
    ids=["finisher", "judgment", "withdrawal", "participant", "rules", "item", "study"],
)
def test_a_changed_study_is_exported_anew(study: Study, change: Any) -> None:
    first = jobs.run(ensure(study))
    assert ensure(study) == first
    change(study)
    study.refresh_from_db()
    second = ensure(study)
    assert (second.status, second != first) == ("waiting", True)
    assert content(jobs.run(second)) == direct(study)


def test_the_analysis_stays_while_people_are_under_way(study: Study) -> None:
    person = people.start(study)
    study.refresh_from_db()  # the first real participant freezes it
    sweep(study, "real", timezone.now())  # the fixture's second one left long ago
    made = jobs.run(ensure(study, "analysis"))
    people.answer(person, until=3)
    assert ensure(study, "analysis") == made


@pytest.mark.parametrize("set_name", ["all", "analysis"])
def test_asking_reads_no_rows_of_settled_participants(study: Study, set_name: str) -> None:
    with CaptureQueriesContext(connection) as seen:
        data_state(study, TrialQuery(set_name, "real"))
    read = [query["sql"] for query in seen.captured_queries if "participant" in query["sql"]]
    assert len(read) == (2 if set_name == "all" else 0)
    for sql in read:  # those under way, and then their rows by key
        assert '"left_at" IS NULL' in sql or '"experiment_participant"."id" IN (' in sql


def test_an_export_holds_the_data_of_its_start_and_is_found_by_them(study: Study) -> None:
    job = ensure(study)
    items = study.items.all()
    items.update(subfield="Later")
    made = jobs.run(job)
    assert content(made) == direct(study)
    assert ensure(study) == made
    items.update(subfield="Behavioural/Cognitive")  # as at the click, and not as in the file
    again = ensure(study)
    assert (again, again.status) == (made, "waiting")
    assert content(jobs.run(again)) == direct(study)


def test_the_newest_exports_stay(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "STORED_PER_STUDY", 2)
    made = []
    for n in range(4):
        change_rows(study, policy=str(n))
        made.append(jobs.run(ensure(study)))
    assert (
        list(TrialExport.objects.order_by("pk")) == made[1:]
    )  # the last one was open while it cleared
    assert len(stored(tmp_path)) == 3


def test_a_file_that_was_cleared_away_is_written_again(study: Study, tmp_path: Path) -> None:
    made = jobs.run(ensure(study))
    for path in stored(tmp_path):
        path.unlink()
    again = ensure(study)
    assert (again, again.status) == (made, "waiting")
    assert content(jobs.run(again)) == direct(study)


def test_exports_in_a_bucket_are_seen_by_machines_without_a_shared_folder(
    study: Study, settings: Any, bucket: Any
) -> None:
    store_files_in(settings, "s3://records/lab")
    made = jobs.run(ensure(study))
    assert [entry.key for entry in bucket.objects.all()] == [f"lab/results/{made.path}"]
    assert (ensure(study), content(made)) == (made, direct(study))
    delete_exports(study)
    assert list(bucket.objects.all()) == []


# Withdrawal


def test_who_withdraws_is_in_no_stored_export(study: Study, tmp_path: Path) -> None:
    elsewhere = jobs.run(ensure(make_study("other")))
    made = jobs.run(ensure(study))
    code = Participant.objects.get(comments="naïve").withdrawal_code
    withdraw(study, code, timezone.now())
    assert list(TrialExport.objects.all()) == [elsewhere]
    assert len(exported(tmp_path)) == 1
    with pytest.raises(FileNotFoundError):
        jobs.open_file(made)


def test_an_export_under_way_when_someone_withdraws_leaves_no_file(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = Participant.objects.get(comments="naïve").withdrawal_code
    job = ensure(study)
    check = Lease.check
    calls = []

    def check_and_withdraw(lease: Lease) -> None:
        check(lease)
        calls.append(lease)
        if len(calls) == 3:  # the file is written, and not yet stored
            withdraw(study, code, timezone.now())

    monkeypatch.setattr(Lease, "check", check_and_withdraw)
    jobs.run(job)
    assert (TrialExport.objects.count(), exported(tmp_path)) == (0, [])


# Workers that die


def kill_a_worker_of(job: TrialExport) -> None:
    environment = {
        **os.environ,
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SECRET_KEY": site.SECRET_KEY,
    }
    command = [sys.executable, "-c", DIE, str(job.pk)]
    assert subprocess.run(command, cwd=ROOT, env=environment).returncode == -signal.SIGKILL


def test_another_worker_takes_up_the_export_of_one_that_was_killed(study: Study) -> None:
    job = ensure(study)
    kill_a_worker_of(job)
    assert list(leases.stale(TrialExport.objects.all())) == [job]
    assert content(jobs.run(job)) == direct(study)


def test_three_killed_workers_fail_it_and_a_person_may_try_again(
    ruth: Client, study: Study, sent: list[TrialExport]
) -> None:
    job = ensure(study)
    for _ in range(leases.MAX_ATTEMPTS):
        TrialExport.objects.update(status="waiting")
        assert leases.take(job) is not None
    TrialExport.objects.update(worker="elsewhere:1:1.1:aaaa", heartbeat_at=None)
    leases.fail_repeatedly_killed(TrialExport.objects.all())
    page = ruth.get(address(), follow=True).content.decode()
    assert "killed or fell silent 3 times" in page
    ruth.post(reverse("lab:export_retry", args=["memory", job.pk]))
    assert sent[-1] == job
    assert jobs.run(job).status == "finished"


def test_a_cancelled_export_stops_between_blocks(
    study: Study, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    job = ensure(study)
    blocks, other = files.trials, connection.copy()

    def cancelling(*arguments: Any) -> Blocks:
        for n, block in enumerate(blocks(*arguments)):
            if n == 2:
                with other.cursor() as cursor:
                    cursor.execute(
                        "UPDATE experiment_trialexport SET cancel_requested = %s", [True]
                    )
            yield block

    monkeypatch.setattr(files, "trials", cancelling)
    monkeypatch.setattr(trial_rows, "ROWS", 11)
    make_participant(study)
    stopped = jobs.run(job)
    other.close()
    assert (stopped.status, stopped.done, stored(tmp_path)) == ("cancelled", 11, [])
