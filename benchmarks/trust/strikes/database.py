"""Other users of the database: who ends its connections, holds its locks, or changes rules for many participants."""

import sqlite3
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from urllib.parse import urlsplit

import psycopg

from benchmarks.databases import using
from benchmarks.experiment.crowd import add_people
from benchmarks.trust.outcome import Figure, Outcome, Scale
from benchmarks.trust.world import World
from benchmarks.web.people import Ledger
from benchmarks.web.site import SLUG, wait_until
from experiment.models import Participant, RuleApplication, Study
from experiment.services.exclusions import verdicts
from experiment.services.study_versions import revise
from lib.jobs import workers

STRIKES_EVERY_S = 1.5
LOCK_S = 5  # after which a page gives up: config/gunicorn.py
MARGIN_S = 3.0  # for the rest of an answer
SLACK_S = 5.0  # for a machine that has other things to do
WORKER_WITHIN_S = 60
JOB_WITHIN_S = 300
END_CONNECTIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
Hold = Callable[[str], AbstractContextManager[None]]
GoesOn = Callable[[World, Ledger], int]  # how much of what needs nothing of it was done so far


def connections_ended(world: World, scale: Scale) -> Outcome:
    """All of the site's connections at once, again and again, while people go on."""
    ended = 0
    think_s = (
        1.0 if scale.is_full else 0.7
    )  # so that people are still there when the last strike comes
    with world.site() as site, world.people(scale.of(5, 24), site.port, think_s=think_s) as ledger:
        for _ in range(scale.of(2, 8)):
            ledger.wait_for(3)
            with psycopg.connect(world.url, autocommit=True) as connection:
                ended += len(connection.execute(END_CONNECTIONS).fetchall())
            time.sleep(STRIKES_EVERY_S)
        recovery_s = ledger.wait_for(1)
    return world.settle(ledger, ended, recovery_s=recovery_s)


@contextmanager
def rows_held(table: str, url: str) -> Iterator[None]:
    """All rows of a table are another's on PostgreSQL."""
    with psycopg.connect(url) as connection:
        connection.execute(f"SELECT 1 FROM {table} FOR UPDATE")  # noqa: S608 (names of ours alone)
        yield


@contextmanager
def writing_held(url: str) -> Iterator[None]:
    """Another writes to SQLite."""
    path = urlsplit(url).path
    with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


@dataclass
class Watch:
    """Asks /healthz again and again."""

    port: int
    longest_s: float = 0.0
    since: float = 0.0  # what was asked before does not count
    problems: list[str] = field(default_factory=list)

    def begin(self, ledger: Ledger) -> int:
        """From here on waits count, no more those of processes that load; how many answers people had by now."""
        self.longest_s, self.since = 0.0, time.monotonic()
        return len(ledger.record.request_s)

    @contextmanager
    def watching(self) -> Iterator["Watch"]:
        stop = threading.Event()
        thread = threading.Thread(target=self._watch, args=(stop,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            stop.set()
            thread.join(60)

    def _watch(self, stop: threading.Event) -> None:
        while not stop.wait(0.2):
            started = time.monotonic()
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=60):
                    pass
            except OSError as error:
                self.problems.append(f"/healthz: {error}")
            if started >= self.since:
                self.longest_s = max(self.longest_s, time.monotonic() - started)


def answers(_: World, ledger: Ledger) -> int:
    return len(ledger.acknowledged)


def consents(world: World, _: Ledger) -> int:
    """On PostgreSQL, and past Django: to look for migrations would wait for what is held."""
    with psycopg.connect(world.url, autocommit=True) as connection:
        row = connection.execute("SELECT count(*) FROM experiment_participant").fetchone()
    assert row is not None
    return int(row[0])


def pages(_: World, ledger: Ledger) -> int:
    return ledger.record.statuses[200]


def waits(ledger: Ledger, since: int, watch: Watch, most_s: float) -> tuple[Figure, ...]:
    """The longest ones, of participants after so many answers."""
    longest_s = max(ledger.record.request_s[since:], default=0.0)
    return (
        Figure("longest wait", longest_s, "s", most_s),
        Figure("longest wait for /healthz", watch.longest_s, "s", SLACK_S),
    )


def held(hold: Hold, goes_on: GoesOn, world: World, scale: Scale) -> Outcome:
    """For 25 s, five times as long as a page waits; those who are refused meanwhile go on afterwards.

    People who are amid their trials and others who begin meet the lock, in full many more than there are threads; what does
    not need it goes on, which is counted. In full the site gives up a lock as it does without a word from us.
    """
    lock_s, hold_s, n = scale.of(1, LOCK_S), scale.of(3, 25), scale.of(6, 64)
    limits = {} if scale.is_full else {"DATABASE_LOCK_SECONDS": str(lock_s)}
    with ExitStack() as stack:
        site = stack.enter_context(world.site(**limits))
        watch = stack.enter_context(Watch(site.port).watching())
        people = partial(world.people, n, site.port, think_s=0.2)
        ledger = stack.enter_context(people(spread_s=scale.of(4, 30)))
        ledger.wait_for(2)
        since = watch.begin(ledger)
        with hold(world.url):
            before, met = goes_on(world, ledger), ledger.unavailable
            stack.enter_context(people(spread_s=hold_s / 2, ledger=ledger))
            time.sleep(hold_s)
            went_on, met = goes_on(world, ledger) - before, ledger.unavailable - met
        recovery_s = ledger.wait_for(1)
    if not met:
        watch.problems.append("no request was refused by the lock")
    if not went_on:
        watch.problems.append("all requests waited, including those that do not need the lock")
    return world.settle(
        ledger,
        1,
        recovery_s=recovery_s,
        figures=(
            # Whoever comes when all threads wait, waits for one of them first
            *waits(ledger, since, watch, 2 * lock_s + MARGIN_S),
            Figure("refused during the lock", met, ""),
            Figure("answered during the lock", went_on, ""),
        ),
        problems=tuple(watch.problems),
    )


def rules_changed(world: World, scale: Scale) -> Outcome:
    """A worker decides a crowd again while people go on; at the end all are decided by the new rules."""
    with using(world.url):
        study = Study.objects.get(slug=SLUG)
        add_people(study, scale.of(60, 1_500))
    with world.site() as site:
        site.start_worker()
        with (
            Watch(site.port).watching() as watch,
            world.people(scale.of(5, 12), site.port, think_s=scale.of(2, 10) / 10) as ledger,
        ):
            ledger.wait_for(2)
            since = watch.begin(ledger)
            problems = _change_rules(world.url)
    with using(world.url):
        study = Study.objects.get(slug=SLUG)
        said = verdicts(study, Participant.Kind.REAL, study.exclusion_rules).participants
        rows = study.participants.finished().values_list("pk", "excluded_by")
        wrong = [pk for pk, excluded_by in rows if said[pk].excluded_by != excluded_by]
    if wrong:
        problems.append(f"{len(wrong)} participants are not judged by the new rules")
    return world.settle(
        ledger,
        len(said),
        all_finished=False,  # the crowd finished without telling us
        figures=waits(ledger, since, watch, SLACK_S),
        problems=(*problems, *watch.problems),
    )


def _change_rules(url: str) -> list[str]:
    """As the lab does, once there is a worker; until everybody is decided."""
    with using(url):
        study = Study.objects.get(slug=SLUG)
        wait_until(lambda: workers.is_taken(RuleApplication), WORKER_WITHIN_S)
        lenient = replace(study.exclusion_rules, recognised=False, missed_catch=False)
        if revise(study, rules=lenient, reason="A pilot misread it.").is_applied:
            return ["the crowd was decided at once"]
        done = study.rule_applications.filter(status=RuleApplication.Status.FINISHED)
        wait_until(done.exists, JOB_WITHIN_S)
        return []
