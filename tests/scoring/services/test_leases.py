"""One worker at a time: a run is taken once, held by heartbeats, given up by the dead, and never written by two."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from lib.jobs import leases
from lib.jobs.workers import Worker
from scoring.domain.backend import Group, GroupResult
from scoring.models import ScoringRun
from scoring.services.execute import execute
from scoring.services.runs import reopen
from tests.experiment.http_client import at_once
from tests.factories import make_study
from tests.scoring.made_runs import Disturbed, ask, scores
from tests.scoring.ngram_backend import NgramBackend
from tests.storages import part_path, records_folder

# Not rolled back: other threads have connections of their own
pytestmark = pytest.mark.django_db(transaction=True)
N_AT_ONCE = 8


@pytest.fixture
def run() -> ScoringRun:
    return ask(make_study(human=3, machine=2))


def held(run: ScoringRun, worker: object, *, beat_s_ago: float = 0) -> ScoringRun:
    """The run as another worker holds it."""
    run.status, run.worker = "running", str(worker)
    run.heartbeat_at = timezone.now() - timedelta(seconds=beat_s_ago)
    run.save()
    return run


def dead_worker() -> Worker:
    """A process of this host that was, and is no more."""
    code = "import django; django.setup(); from lib.jobs.workers import Worker; print(Worker.of_this_process())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    worker = Worker.read(done.stdout.strip())
    assert worker is not None
    return worker


def test_only_one_of_many_workers_gets_the_run(run: ScoringRun) -> None:
    got = [lease for lease in at_once([lambda: leases.take(run)] * N_AT_ONCE) if lease]
    assert len(got) == 1
    run.refresh_from_db()
    assert (run.status, run.worker) == ("running", got[0].worker)


def test_many_workers_at_once_score_every_pair_once(run: ScoringRun) -> None:
    models = [NgramBackend() for _ in range(N_AT_ONCE)]
    jobs: list[Callable[[], ScoringRun]] = [
        lambda model=model: execute(ScoringRun.objects.get(pk=run.pk), backend=model)
        for model in models
    ]
    at_once(jobs)
    run.refresh_from_db()
    assert (run.status, run.done, run.item_scores.count()) == ("finished", 5, 5)
    assert sum(len(model.scored) for model in models) == 10


@pytest.mark.parametrize("status", ["finished", "cancelled"])
def test_a_run_that_is_not_open_is_not_to_be_had(run: ScoringRun, status: str) -> None:
    ScoringRun.objects.update(status=status)
    assert leases.take(run) is None


def test_the_run_of_a_living_worker_is_not_to_be_had(run: ScoringRun) -> None:
    held(run, Worker.of_this_process())
    assert leases.take(run) is None
    assert not leases.stale(ScoringRun.objects.all()).exists()


def test_the_run_of_a_dead_process_of_this_host_is_taken_at_once(run: ScoringRun) -> None:
    held(run, dead_worker())
    assert list(leases.stale(ScoringRun.objects.all())) == [run]
    assert leases.take(run) is not None
    assert not leases.stale(ScoringRun.objects.all()).exists()


def test_a_process_number_that_was_given_anew_does_not_keep_the_run(run: ScoringRun) -> None:
    earlier = replace(Worker.of_this_process(), start=f"{dead_worker().start}")
    held(run, earlier)
    assert list(leases.stale(ScoringRun.objects.all())) == [run]


@pytest.mark.parametrize("change", [{"host": "elsewhere"}, {"start": "1.1"}])
def test_a_worker_in_another_host_or_container_is_judged_by_heartbeat(
    run: ScoringRun, change: dict[str, str], settings: Any
) -> None:
    worker = replace(dead_worker(), **change)
    held(run, worker)
    assert leases.take(run) is None
    held(run, worker, beat_s_ago=settings.JOB_STALE_SECONDS + 1)
    assert list(leases.stale(ScoringRun.objects.all())) == [run]
    assert leases.take(run) is not None


def test_a_heartbeat_keeps_a_slow_run(run: ScoringRun, settings: Any) -> None:
    settings.JOB_STALE_SECONDS = 0.4
    stale_meanwhile = []

    def be_slow() -> None:
        for _ in range(10):
            time.sleep(0.1)
            stale_meanwhile.append(leases.stale(ScoringRun.objects.all()).exists())

    assert execute(run, backend=Disturbed(1, be_slow)).status == "finished"
    assert stale_meanwhile == [False] * 10


def test_a_worker_that_lost_its_run_writes_nothing_more(run: ScoringRun) -> None:
    other = replace(Worker.of_this_process(), host="elsewhere")

    class Slow(NgramBackend):
        def score(self, groups: Sequence[Group]) -> list[GroupResult]:
            if self.scored:  # in the second batch
                held(ScoringRun.objects.get(pk=run.pk), other)
            return super().score(groups)

    done = execute(run, backend=Slow())
    assert (done.status, done.worker) == ("running", str(other))
    assert done.item_scores.count() == done.done > 0
    assert not part_path(run, 1).exists()
    assert [path.name for path in records_folder(run).iterdir()] == ["part-00000.parquet"]


def test_a_lost_lease_is_noticed_by_the_heartbeat(run: ScoringRun, settings: Any) -> None:
    settings.JOB_STALE_SECONDS = 0.2
    lease = leases.take(run)
    assert lease is not None
    with lease.heartbeats_running():
        held(run, "elsewhere:1:1.1:aaaa")
        assert lease.is_lost.wait(timeout=10)
    with pytest.raises(leases.LeaseLostError):
        lease.check()


def test_without_a_database_for_too_long_the_lease_is_lost(
    run: ScoringRun, settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def locked(self: leases.Lease) -> None:
        raise OperationalError("database is locked")

    settings.JOB_STALE_SECONDS = 0.2
    lease = leases.take(run)
    assert lease is not None
    monkeypatch.setattr(leases.Lease, "_mine", locked)
    with lease.heartbeats_running():
        assert lease.is_lost.wait(timeout=10)
    assert f"No heartbeat for scoring run {run.pk}: database is locked" in caplog.text


def test_an_end_that_comes_too_late_changes_nothing(run: ScoringRun) -> None:
    lease = leases.take(run)
    assert lease is not None
    held(run, "elsewhere:1:1.1:aaaa")
    lease.end("failed", "too late")
    lease.release()
    run.refresh_from_db()
    assert (run.status, run.error) == ("running", "")


# Cancelling


def test_a_waiting_run_is_cancelled_at_once(run: ScoringRun) -> None:
    run = leases.request_cancel(run)
    assert (run.status, run.cancel_requested) == ("cancelled", False)
    assert run.finished_at is not None


def test_a_running_one_stops_within_a_batch_and_keeps_what_it_has(run: ScoringRun) -> None:
    def cancel() -> None:
        leases.request_cancel(ScoringRun.objects.get(pk=run.pk))

    done = execute(run, backend=Disturbed(2, cancel))
    assert (done.status, done.cancel_requested, done.worker) == ("cancelled", False, "")
    assert done.item_scores.count() == done.done == 2
    whole = execute(ask(run.study), backend=NgramBackend())
    done = execute(reopen(done), backend=NgramBackend())
    assert (done.status, scores(done)) == ("finished", scores(whole))


def test_a_run_whose_worker_is_gone_is_cancelled_at_once(run: ScoringRun) -> None:
    run = leases.request_cancel(held(run, dead_worker()))
    assert (run.status, run.worker) == ("cancelled", "")


def test_a_wish_to_stop_that_comes_while_the_run_is_let_go_is_kept(run: ScoringRun) -> None:
    lease = leases.take(run)
    assert lease is not None
    leases.request_cancel(run)
    lease.release()
    run.refresh_from_db()
    assert (run.status, run.cancel_requested) == ("cancelled", False)
