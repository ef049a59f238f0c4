"""Whoever works on jobs is ended, killed or paused amid them: each job is done once in effect, to the last bit."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack

from django.db import OperationalError, transaction

from benchmarks.trust import jobs
from benchmarks.trust.broker import Broker, missing
from benchmarks.trust.check import Check, Part, Scale
from benchmarks.trust.outcome import Outcome
from benchmarks.trust.site import CELERY, WORK, Site, send
from benchmarks.trust.world import World
from benchmarks.web.database import using
from scoring.models import ScoringRun

N_ITEMS = 40
STALE_S = "2"
A_WRITE_S = 0.1
Command = tuple[str, ...]


def worker_struck(world: World, _: Scale) -> Outcome:
    """`manage.py work`, whose process at work is one below it."""
    return _struck(world, WORK, {})


def celery_struck(world: World, _: Scale) -> Outcome:
    """Celery's worker, told of jobs by Redis."""
    broker = Broker(world.folder)
    with ExitStack() as stack:
        stack.callback(broker.stop)
        broker.start()
        return _struck(world, CELERY, {"JOB_EXECUTOR": "celery", "CELERY_BROKER_URL": broker.url})


def _struck(world: World, command: Command, changes: dict[str, str]) -> Outcome:
    """Of two runs of a model nothing strikes the first; the second is to come to the same."""
    site = Site(
        world.url, world.folder, {"JOB_STALE_SECONDS": STALE_S, "OMP_NUM_THREADS": "1"} | changes
    )
    strikes = (_end, _kill, _kill_below, _pause)
    with using(world.url), ExitStack() as stack:
        stack.callback(site.stop)
        whole = jobs.ask_for_scores(N_ITEMS)
        site.start_worker(command)
        jobs.wait_for(whole, status="finished")
        run = jobs.ask_for_scores(N_ITEMS)
        for strike in strikes:
            jobs.wait_for(run, done=run.done + 2)
            if not run.is_open:
                return Outcome(len(strikes), problems=("nothing was left to be struck in",))
            stack.callback(strike(site, run, command))
        jobs.wait_for(run, status="finished")
        problems = jobs.differences(run, whole, site.folder)
    return Outcome(
        cases=len(strikes),
        acknowledged=run.total,
        stored=run.done,
        lost=run.total - run.done,
        problems=tuple(problems),
    )


def _end(site: Site, run: ScoringRun, command: Command) -> Callable[[], None]:
    site.stop()
    site.start_worker(command)
    return lambda: None


def _kill(site: Site, run: ScoringRun, command: Command) -> Callable[[], None]:
    """All of its processes at once, as when the power goes."""
    site.stop(signal.SIGKILL)
    site.start_worker(command)
    return lambda: None


def _kill_below(site: Site, run: ScoringRun, command: Command) -> Callable[[], None]:
    """The process at work alone, as the kernel does when memory runs out."""
    assert site.worker is not None
    for process in site.below(site.worker):
        os.kill(process, signal.SIGKILL)
    return lambda: None


def _pause(site: Site, run: ScoringRun, command: Command) -> Callable[[], None]:
    """For so long that another one takes the job; then both are there."""
    assert site.worker is not None
    paused = site.worker
    _stop_between_writes(paused.pid, run)
    site.start_worker(command)
    jobs.wait_for(run, done=run.done + 2)
    os.killpg(paused.pid, signal.SIGCONT)

    def end() -> None:
        send(paused, signal.SIGKILL)
        paused.wait()

    return end


def _stop_between_writes(group: int, run: ScoringRun) -> None:
    """One that stands still within a transaction keeps its lock, which nobody can take from it: that is another fault."""
    while True:
        os.killpg(group, signal.SIGSTOP)
        try:
            with transaction.atomic():
                ScoringRun.objects.select_for_update(nowait=True).get(pk=run.pk)
        except OperationalError:
            os.killpg(group, signal.SIGCONT)
            time.sleep(A_WRITE_S)
        else:
            return


CHECKS = (
    Check(
        "worker-struck",
        "Worker ended, killed and paused amid scoring",
        Part.PROCESSES,
        worker_struck,
        short_on=(),
        scores=True,
    ),
    Check(
        "celery-struck",
        "Celery's worker ended, killed and paused amid scoring",
        Part.PROCESSES,
        celery_struck,
        short_on=(),
        scores=True,
        missing=missing,
    ),
)
