"""Exports that workers make: the bytes of a direct export, never of an earlier state, nothing of those who withdrew."""

import hashlib
import io
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from experiment.domain.exclusion import Rules
from experiment.domain.release import Form
from experiment.domain.trial_query import TrialQuery
from experiment.models import Participant, Study, TrialExport
from experiment.services.counting import raise_revision, sweep
from experiment.services.export import files, jobs
from experiment.services.export import trials as trial_rows
from experiment.services.export.files import Blocks
from experiment.services.export.jobs import delete_exports
from experiment.services.study_versions import revise
from experiment.services.withdrawal import withdraw
from lib.jobs.leases import Lease
from tests.experiment import people
from tests.factories import make_participant, make_study
from tests.storages import store_files_in

# The worker's progress is written by a connection of its own: nothing is rolled back
pytestmark = pytest.mark.django_db(transaction=True)

ADDRESS = reverse("lab:export_download", args=["memory"]) + "?set=all"


@pytest.fixture(autouse=True)
def sent(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[TrialExport]:
    """The jobs that workers were sent for."""
    settings.JOB_EXECUTOR = "celery"
    store_files_in(settings, tmp_path)
    sent: list[TrialExport] = []
    monkeypatch.setattr(jobs, "enqueue", lambda job, asked_by: sent.append(job))
    return sent


@pytest.fixture
def study() -> Study:
    study = make_study(recruitment="open")
    make_participant(study, comments="naïve", published_id="=1+1")
    make_participant(study, judged=3)
    return study


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
        page = ruth.get(ADDRESS, follow=True)
    assert "Exporting the trials" in page.content.decode()
    [job] = sent
    jobs.run(job)
    live = ruth.get(reverse("lab:export_live", args=["memory", job.pk])).content.decode()
    assert reverse("lab:export_file", args=["memory", job.pk]) in live
    response = ruth.get(ADDRESS, follow=True)
    settings.JOB_EXECUTOR = "inline"
    now = ruth.get(ADDRESS)
    assert response.getvalue() == now.getvalue() == direct(study)
    for header in ("Content-Type", "Content-Disposition", "Cache-Control"):
        assert response[header] == now[header]
    TrialExport.objects.update(status="failed")
    ruth.post(reverse("lab:export_retry", args=["memory", job.pk]))
    assert sent == [job, job]


def test_however_many_exports_are_asked_for_a_few_of_a_study_wait(
    study: Study, sent: list[TrialExport]
) -> None:
    for name, *how in product(("all", "analysis"), (False, True), (False, True)):
        jobs.ensure_exported(study, TrialQuery(name), Form("csv", *how))
    assert len(sent) == 8 > jobs.MOST_WAITING
    assert [*TrialExport.objects.order_by("pk")] == sent[-jobs.MOST_WAITING :]


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
        lambda study: Study.objects.update(ethics_body="A board", ethics_number="7"),
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


def test_exports_in_a_bucket_are_seen_by_machines_without_a_shared_folder(
    study: Study, settings: Any, bucket: Any
) -> None:
    store_files_in(settings, "s3://records/lab")
    made = jobs.run(ensure(study))
    assert [entry.key for entry in bucket.objects.all()] == [f"lab/results/{made.path}"]
    assert (ensure(study), content(made)) == (made, direct(study))
    delete_exports(study)
    assert list(bucket.objects.all()) == []


def test_the_newest_exports_stay_and_one_that_was_cleared_away_is_written_again(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "STORED_PER_STUDY", 2)
    made = []
    for n in range(4):
        change_rows(study, policy=str(n))
        made.append(jobs.run(ensure(study)))
    # The last one was open while it cleared
    assert list(TrialExport.objects.order_by("pk")) == made[1:]
    assert len(stored(tmp_path)) == 3
    for path in stored(tmp_path):
        path.unlink()
    again = ensure(study)
    assert (again, again.status) == (made[-1], "waiting")
    assert content(jobs.run(again)) == direct(study)


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


def test_a_cancelled_export_stops_between_blocks(
    study: Study, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    job = ensure(study)
    blocks, other = files.trials, connection.copy()

    def cancelling(*arguments: Any, **named: Any) -> Blocks:
        for n, block in enumerate(blocks(*arguments, **named)):
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
