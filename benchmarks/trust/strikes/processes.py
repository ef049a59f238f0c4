"""Web processes, the database and whoever works on jobs end or stand still in the midst of work."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path

from django.db import OperationalError, transaction

from benchmarks.completions.models import make_tokenizer, tiny_markov
from benchmarks.completions.stub import MODEL, CompletionsStub
from benchmarks.databases import using
from benchmarks.trust import jobs
from benchmarks.trust.broker import Broker
from benchmarks.trust.outcome import Figure, Outcome, Scale
from benchmarks.trust.world import World
from benchmarks.web.material import make_items
from benchmarks.web.people import Person
from benchmarks.web.site import CELERY, WORK, Site, below, send, wait_until
from config.env import parse_database_url
from lib.jobs.leases import reopen
from scoring.backends.tokenizers import load_tokenizer
from scoring.models import ScoringRun

PAUSE_S = 10
ENDED_AFTER_S = PAUSE_S + 2


def killed(site: Site) -> None:
    """All processes at once, as when the power goes, and started again."""
    site.stop(signal.SIGKILL)
    site.start()


def terminated(site: Site) -> None:
    """Asked to end, as systemd does it, and started again."""
    site.stop()
    site.start()


def reloaded(site: Site) -> None:
    """SIGHUP, as after a change of settings: new processes take the place of the old ones, and the door stays open."""
    before = site.web_processes()
    os.kill(site.pid, signal.SIGHUP)
    wait_until(lambda: not set(before) & set(site.web_processes()))


def process_killed(site: Site) -> None:
    """One of the processes that answer; gunicorn starts another."""
    os.kill(site.web_processes()[0], signal.SIGKILL)


def web_paused(world: World, scale: Scale) -> Outcome:
    """All processes that answer stand still: for a while, and until gunicorn takes them for dead."""
    timeout_s = scale.of(short=3, full=ENDED_AFTER_S)
    goes_on = iter([True] if scale.is_full else [])  # the first time

    def pause(site: Site) -> None:
        paused = site.web_processes()
        for process in paused:
            os.kill(process, signal.SIGSTOP)
        if next(goes_on, False):
            time.sleep(PAUSE_S)
            for process in paused:
                os.kill(process, signal.SIGCONT)
        else:
            wait_until(lambda: not set(paused) & set(site.web_processes()))

    return struck(pause, 1, 2, world, scale, GUNICORN_CMD_ARGS=f"--timeout {timeout_s}")


def struck(
    strike: Callable[[Site], None],
    short: int,
    full: int,
    world: World,
    scale: Scale,
    *,
    most_unanswered: int | None = None,
    person: type[Person] = Person,
    **changes: str,
) -> Outcome:
    """So many strikes, each after some more answers; it is over once an answer is acknowledged again."""
    recovery_s, strikes = 0.0, scale.of(short, full)
    people = scale.of(6, 16)
    with (
        world.site(**changes) as site,
        world.people(people, site.port, person=person) as ledger,
    ):
        for _ in range(strikes):
            ledger.wait_for(5)
            began = time.monotonic()
            strike(site)
            ledger.wait_for(1)
            recovery_s = max(recovery_s, time.monotonic() - began)
    n = ledger.record.unanswered
    unanswered = Figure("complete requests without a response", n, "", most_unanswered)
    return world.settle(ledger, strikes, recovery_s=recovery_s, figures=(unanswered,))


NEVER_WRITTEN_S = 30


def database_restarted(world: World, scale: Scale) -> Outcome:
    """As it is for an upgrade, and as in a crash, from which it recovers; the site's own processes stay."""
    server, modes = world.server, cycle(("fast", "immediate"))
    assert server is not None

    def restart(_: Site) -> None:
        server.stop(next(modes))
        server.start()

    return struck(restart, 2, 4, world, scale)


def killed_within_commit(world: World, scale: Scale) -> Outcome:
    """All processes, at the moment when the write-ahead log grows; it is left behind, and read at the start."""
    log = Path(f"{parse_database_url(world.url)['NAME']}-wal")
    problems: list[str] = []

    def kill(site: Site) -> None:
        _wait_for_write(log)
        site.stop(signal.SIGKILL)
        if not log.exists() or not log.stat().st_size:
            problems.append("no write-ahead log was left")
        site.start()

    found = struck(kill, 2, 6, world, scale)
    return replace(found, problems=(*found.problems, *problems))


def _wait_for_write(log: Path) -> None:
    """Without a pause: a commit takes a few milliseconds."""
    before, until = log.stat().st_mtime_ns, time.monotonic() + NEVER_WRITTEN_S
    while log.stat().st_mtime_ns == before:
        if time.monotonic() > until:
            raise TimeoutError("nobody wrote anything")


N_SCORED = 40
STALE_S = "2"
A_WRITE_S = 0.1
Command = tuple[str, ...]


def worker_struck(world: World, _: Scale) -> Outcome:
    """`manage.py work`, whose process at work is one below it."""
    return _worker(world, WORK, {})


def celery_struck(world: World, _: Scale) -> Outcome:
    """Celery's worker, told of jobs by Redis."""
    broker = Broker(world.folder)
    with ExitStack() as stack:
        stack.callback(broker.stop)
        broker.start()
        return _worker(world, CELERY, broker.changes)


def _worker(world: World, command: Command, changes: dict[str, str]) -> Outcome:
    """Strikes the second of two runs of a model; it is to come to the same as the first."""
    site = Site(
        world.url, world.folder, {"JOB_STALE_SECONDS": STALE_S, "OMP_NUM_THREADS": "1"} | changes
    )
    with using(world.url), ExitStack() as stack:
        stack.callback(site.stop)
        whole = jobs.ask_for_scores(N_SCORED)
        site.start_worker(command)
        jobs.wait_for(whole, status="finished")
        run = jobs.ask_for_scores(N_SCORED)
        strikes = _strikes(site, run, command, stack)
        for strike in strikes:
            jobs.wait_for(run, done=run.done + 2)
            if not run.is_open:
                return Outcome(len(strikes), problems=("the run ended before the fault",))
            strike()
        jobs.wait_for(run, status="finished")
        problems = jobs.differences(run, whole, site.folder)
    return Outcome(
        cases=len(strikes),
        acknowledged=run.total,
        stored=run.done,
        lost=run.total - run.done,
        problems=tuple(problems),
    )


def _strikes(
    site: Site, run: ScoringRun, command: Command, stack: ExitStack
) -> tuple[Callable[[], None], ...]:
    def again(number: int = signal.SIGTERM) -> None:
        site.stop(number)
        site.start_worker(command)

    def kill_below() -> None:
        """The process at work alone, as the kernel does when memory runs out."""
        assert site.worker is not None
        for process in below(site.worker.pid):
            os.kill(process, signal.SIGKILL)

    def pause() -> None:
        """For so long that another one takes the job; then both are there."""
        assert site.worker is not None
        paused = site.worker
        _stop_between_writes(paused.pid, run)
        site.start_worker(command)
        jobs.wait_for(run, done=run.done + 2)
        os.killpg(paused.pid, signal.SIGCONT)
        stack.callback(paused.wait)
        stack.callback(send, paused, signal.SIGKILL)

    return again, partial(again, signal.SIGKILL), kill_below, pause


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


N_ITEMS = 24
DELAY_S = 0.1  # of each answer, so that the run lasts for all faults
# In the stub's words, and how often each strikes; three failures in a row, or the server would be taken to fail on this text for ever
BEHAVIOURS = (("429", 1), ("500", 3), ("hangs", 1), ("drops", 2), ("garbage", 1))
# A request at a time, so that what is asked in vain can be counted
PATIENCE = {"concurrency": "1", "timeout": "3", "retry_seconds": "60"}


def misbehaving(world: World, _: Scale) -> Outcome:
    """One run of a server that behaves; and one that is struck by each fault in turn, and by the worker's death."""
    folder = make_tokenizer(world.folder / "tokenizer", [item.markup for item in make_items()[:20]])
    tokenizer = load_tokenizer(str(folder))
    site = Site(world.url, world.folder)
    with (
        using(world.url),
        CompletionsStub(tiny_markov(len(tokenizer)), tokenizer, 4096) as stub,
    ):
        args = {"base_url": stub.url, "model": MODEL, "tokenizer": str(folder), **PATIENCE}
        try:
            site.start_worker()
            whole = jobs.ask_for_scores(N_ITEMS, "completions", **args)
            jobs.wait_for(whole, status="finished")
            n_requests = len(stub.requests)
            stub.delay_s = DELAY_S
            run = jobs.ask_for_scores(N_ITEMS, "completions", **args)
            problems = _misbehave(stub, run)
            jobs.wait_for(run, done=run.done + 1)
            site.stop(signal.SIGKILL)
            site.start_worker()
            jobs.wait_for(run, status="finished")
        finally:
            site.stop()
        problems += jobs.differences(run, whole, site.folder)
    more = len(stub.requests) - 2 * n_requests
    return Outcome(
        cases=sum(n for _, n in BEHAVIOURS) + 1,
        acknowledged=run.total,
        stored=run.done,
        lost=run.total - run.done,
        figures=(Figure("requests beyond those of an undisturbed run", more, ""),),
        problems=tuple(problems),
    )


def _misbehave(stub: CompletionsStub, run: ScoringRun) -> list[str]:
    """Each fault amid the run. What no retry mends fails it with a sentence; then it is asked for again."""
    found = []
    for fault, times in BEHAVIOURS:
        jobs.wait_for(run, done=run.done + 1)
        stub.fault_times, stub.fault = times, fault
        wait_until(lambda: not stub.fault_times, jobs.FINISHED_WITHIN_S)
        if fault == "garbage":
            jobs.wait_for(run, status="failed")
            if "is not JSON" not in run.error:
                found.append(f"garbage ended the run with: {run.error}")
            reopen(run)
    return found
