"""Faults of participants' browsers, of their network and of other users of the database.

Long: one strike after the other, each read by itself.
"""

import asyncio
import http.client
import json
import random
import socket
import sqlite3
import struct
import threading
import time
import urllib.request
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit

import psycopg

from benchmarks.databases import using
from benchmarks.experiment.crowd import add_people
from benchmarks.trust.outcome import Figure, Outcome, Scale
from benchmarks.trust.world import World
from benchmarks.web.client import REDIRECTS, Client, Record
from benchmarks.web.people import HTML, JSON, Ledger, Person, hidden_fields, noted
from benchmarks.web.site import ENTRY, SLUG, wait_until
from experiment.models import ItemCount, Participant, RecruitmentRecord, RuleApplication, Study
from experiment.services.exclusions import verdicts
from experiment.services.recounting import check
from experiment.services.study_versions import revise
from lib.jobs import workers

TOLD = 409  # that another answer is stored, or that the page is another one


@dataclass(frozen=True, slots=True)
class Said:
    """The answer to one request; `next` is where an accepted one leads."""

    status: int
    next: str = ""


async def post(client: Client, path: str, form: dict[str, str], *, script: bool) -> Said:
    body, accept = urlencode(form).encode(), JSON if script else HTML
    status, headers, text = await client.ask("POST", path, body, accept)
    if status in REDIRECTS:
        return Said(status, client.path_of(headers["location"]))
    return Said(status, json.loads(text)["next"] if status == 200 and script else "")


async def in_tabs(person: Person, forms: list[dict[str, str]]) -> list[Said]:
    """Each form from a tab of its own at the same moment, by the script and without it in turns."""
    tabs = [person.client.another_tab() for _ in forms]
    path = person.page.path
    said = await asyncio.gather(
        *(
            post(tab, path, form, script=bool(n % 2))
            for n, (tab, form) in enumerate(zip(tabs, forms, strict=True))
        )
    )
    for tab in tabs:
        tab.close()
    return said


def expect_all(person: Person, said: list[Said], statuses: set[int], what: str) -> None:
    if strange := {s.status for s in said} - statuses:
        person.ledger.problems.append(f"{what}: answered {sorted(strange)}")
    if len(ways := {s.next for s in said if s.next}) > 1:
        person.ledger.problems.append(f"{what}: leads to {sorted(ways)}")


async def copies(person: Person, n: int) -> str:
    """One answer many times: all are told the same."""
    form, key, sent = person.judge()
    said = await in_tabs(person, [hidden_fields(person.page.text) | form] * n)
    expect_all(person, said, {200, 303}, f"{n} copies of an answer")
    person.ledger.acknowledge(key, sent)
    return said[0].next


async def rivals(person: Person, n: int) -> str:
    """Different answers for one trial: one is taken, and the others are told so."""
    form, _, sent = person.judge()
    keys = [str(uuid.uuid4()) for _ in range(n)]
    hidden = hidden_fields(person.page.text)
    forms = [
        hidden | form | {"idempotency_key": key, "side": "AB"[k % 2]} for k, key in enumerate(keys)
    ]
    said = await in_tabs(person, forms)
    expect_all(person, said, {200, 303, TOLD}, f"{n} different answers")
    taken = [k for k, one in enumerate(said) if one.status != TOLD]
    for k in taken:
        person.ledger.acknowledge(keys[k], replace(sent, side="AB"[k % 2]))
    if len(taken) != 1:
        person.ledger.problems.append(f"of {n} different answers {len(taken)} were accepted")
    return said[taken[0]].next


async def back(person: Person, n: int) -> str:
    """The old page is sent once more: as it was it leads on, changed it is told that the first answer stands."""
    form, key, sent = person.judge()
    whole = hidden_fields(person.page.text) | form
    [first] = await in_tabs(person, [whole])
    person.ledger.acknowledge(key, sent)
    again = await in_tabs(person, [whole, whole])
    expect_all(person, [first, *again], {200, 303}, "an answer sent again after going back")
    other = whole | {"idempotency_key": str(uuid.uuid4()), "side": "BA"[sent.side == "B"]}
    told = await in_tabs(person, [other, other])
    expect_all(person, told, {TOLD}, "another answer after going back")
    return first.next


async def reload(person: Person, n: int) -> str:
    """The page is loaded anew, again and again, while its answer is stored: it is shown, or leads on."""
    form, key, sent = person.judge()
    path, tabs = person.page.path, [person.client.another_tab() for _ in range(n)]

    async def load(tab: Client) -> Said:
        status, headers, _ = await tab.ask("GET", path, None, HTML)
        return Said(status, tab.path_of(headers.get("location", "")))

    storing = in_tabs(person, [hidden_fields(person.page.text) | form])
    loading = asyncio.gather(*(load(tab) for tab in tabs))
    [stored], loaded = await asyncio.gather(storing, loading)
    person.ledger.acknowledge(key, sent)
    expect_all(person, [stored, *loaded], {200, 303}, "a page loaded while its answer is stored")
    for tab in tabs:
        tab.close()
    return stored.next


STRIKES: tuple[Callable[[Person, int], Awaitable[str]], ...] = (copies, rivals, back, reload)


def sent_again(world: World, scale: Scale) -> Outcome:
    """Each trial of each person is sent in one of the ways above."""
    ledger, cases = Ledger(), 0

    async def walk(person: Person) -> None:
        nonlocal cases
        await person.begin(ENTRY)
        while "/trial/" in person.page.path:
            strike = STRIKES[(cases + person.number) % len(STRIKES)]
            cases += 1
            await person.open(await strike(person, scale.of(12, 50)))
        await person.end()

    with world.site() as site:
        asyncio.run(all_of(range(scale.of(1, 4)), walk, site.port, ledger))
    return world.settle(ledger, cases)


async def all_of(
    numbers: Iterable[int], walk: Callable[[Person], Awaitable[None]], port: int, ledger: Ledger
) -> None:
    """People of these numbers, at the same time."""
    people = [Person(number, port, ledger) for number in numbers]
    await asyncio.gather(*(noted(walk(person), ledger) for person in people))
    for person in people:
        person.client.close()


def two_tabs(world: World, scale: Scale) -> Outcome:
    """Both tabs of a browser walk the same way, each as fast as it can."""
    ledger, told = Ledger(), 0

    async def go_on(tab: Person) -> None:
        nonlocal told
        await tab.open(ENTRY)
        while "/trial/" in tab.page.path:
            form, key, sent = tab.judge()
            whole = hidden_fields(tab.page.text) | form
            said = await post(tab.client, tab.page.path, whole, script=tab.scripted)
            if said.status in (200, 303):
                ledger.acknowledge(key, sent)
            elif said.status == TOLD:
                told += 1
            else:
                ledger.problems.append(f"a tab was answered {said.status}")
            await tab.open(said.next or ENTRY)

    async def walk(first: Person) -> None:
        await first.begin(ENTRY)
        second = Person(first.number + 1, first.client.port, ledger)
        second.client = first.client.another_tab()
        await asyncio.gather(go_on(first), go_on(second))
        await first.end()

    with world.site() as site:
        asyncio.run(all_of(range(0, 2 * scale.of(2, 12), 2), walk, site.port, ledger))
    return world.settle(ledger, len(ledger.acknowledged) + told)


AT_ONCE = 64
COPIES = 4
KNOWN = 409  # somebody takes part under this id


async def begin_as(number: int, port: int, ledger: Ledger) -> int:
    """One id in four browsers and, in the one that is let in, four times; how many browsers were let in."""
    link = f"{ENTRY}?PROLIFIC_PID=id-{number}&STUDY_ID=study&SESSION_ID=session-{number}"
    browsers = [Person(COPIES * number + k, port, ledger) for k in range(COPIES)]
    await asyncio.gather(*(browser.open(link) for browser in browsers))
    said = await asyncio.gather(*(_agree(browser, browser.client) for browser in browsers))
    if strange := set(said) - {303, KNOWN}:
        ledger.problems.append(f"a start was answered {sorted(strange)}")
    let_in = [browser for browser, status in zip(browsers, said, strict=True) if status == 303]
    for browser in let_in:
        tabs = [browser.client.another_tab() for _ in range(COPIES)]
        again = await asyncio.gather(*(_agree(browser, tab) for tab in tabs))
        if set(again) != {303}:
            ledger.problems.append(f"a start sent again was answered {sorted(set(again))}")
        await browser.open(ENTRY)
        if "/about-you/" not in browser.page.path:
            ledger.problems.append(f"an admitted participant is redirected to {browser.page.path}")
    return len(let_in)


async def _agree(browser: Person, client: Client) -> int:
    form = hidden_fields(browser.page.text) | {"agree": "yes"}
    status, _, _ = await client.ask("POST", ENTRY, urlencode(form).encode(), "text/html")
    return 303 if status in REDIRECTS else status


def same_ids(world: World, scale: Scale) -> Outcome:
    """Each id begins in several browsers at the same moment: one takes part under it."""
    n_ids, ledger = scale.of(8, 16), Ledger()

    async def begin(port: int) -> list[int]:
        return await asyncio.gather(*(begin_as(number, port, ledger) for number in range(n_ids)))

    with world.site() as site:
        let_in = asyncio.run(begin(site.port))
    problems = [f"{n} browsers were admitted with one ID" for n in let_in if n != 1]
    with using(world.url):
        n_people, n_records = Participant.objects.count(), RecruitmentRecord.objects.count()
    if (n_people, n_records) != (n_ids, n_ids):
        problems.append(f"{n_people} participants and {n_records} stored IDs for {n_ids} IDs")
    return world.settle(ledger, COPIES * n_ids, all_finished=False, problems=tuple(problems))


def many_starts(world: World, scale: Scale) -> Outcome:
    """64 people begin at once, again and again; test cases are given out as evenly as one after another."""
    rounds, n, ledger = scale.of(1, 20), scale.of(32, AT_ONCE), Ledger()

    async def begin_all(port: int) -> None:
        for at in range(0, rounds * n, n):
            await all_of(range(at, at + n), lambda person: person.begin(ENTRY), port, ledger)

    with world.site() as site:
        asyncio.run(begin_all(site.port))
    with using(world.url):
        problems = uneven(Study.objects.get(slug=SLUG), rounds * n)
    return world.settle(ledger, rounds * n, all_finished=False, problems=tuple(problems))


def uneven(study: Study, n_people: int) -> list[str]:
    """Problems with how often each test case was given out; everybody was given one."""
    problems = [str(drift) for drift in check([study])]
    given = 0
    for stratum in study.trial_counts:
        counts = ItemCount.objects.filter(study=study, kind=Participant.Kind.REAL, stratum=stratum)
        assigned = list(counts.values_list("assigned", flat=True))
        given += sum(assigned)
        if max(assigned) - min(assigned) > 1:
            problems.append(f"{stratum}: items assigned {min(assigned)} to {max(assigned)} times")
    return (
        problems
        if given == n_people
        else [*problems, f"{given} assigned to {n_people} participants"]
    )


BODY = b"agree=yes&consent_sha256=" + b"0" * 64
REFUSED = "cut within the body"
LOGGED_WITHIN_S = 10.0
# Close at once and forget what was not sent, as when a cable is pulled
RESET = struct.pack("ii", 1, 0)


CUT_SHARE = 0.15  # of requests
TRICKLE_S, TRICKLED = 0.05, 40  # bytes, one by one; the others at once


class Cut(StrEnum):
    """The fate of a request and its answer. After all but the last two, the connection is closed."""

    BEFORE = "before the request"
    WITHIN_HEAD = "within the request's head"
    WITHIN_BODY = "within the request's body"
    BEFORE_ANSWER = "before the answer"
    WITHIN_ANSWER = "within the answer"
    TRICKLE = "sent byte by byte"
    HALF_CLOSED = "closed on one side after the request"


class CutClient(Client):
    """A browser behind a bad network."""

    def __init__(self, port: int, record: Record, rng: random.Random, struck: Counter[Cut]) -> None:
        super().__init__(port, record)
        self.rng, self.struck = rng, struck
        self.is_half_closed = False

    def _next(self, has_body: bool) -> Cut | None:
        if self.rng.random() >= CUT_SHARE:
            return None
        cuts = [cut for cut in Cut if has_body or cut is not Cut.WITHIN_BODY]
        fewest = min(self.struck[cut] for cut in cuts)  # so that every kind has its turn
        cut = self.rng.choice([cut for cut in cuts if self.struck[cut] == fewest])
        self.struck[cut] += 1
        return cut

    async def send(
        self, request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        n_head = request.index(b"\r\n\r\n") + 4
        n_body = len(request) - n_head
        cut = self._next(has_body=n_body > 0)
        n_sent = {
            Cut.BEFORE: 0,
            Cut.WITHIN_HEAD: n_head // 2,
            Cut.WITHIN_BODY: n_head + n_body // 2,
            Cut.TRICKLE: len(request) - TRICKLED,
        }.get(cut or Cut.BEFORE_ANSWER, len(request))
        await super().send(request[:n_sent], reader, writer)
        if cut is Cut.TRICKLE:
            for at in range(n_sent, len(request)):
                await super().send(request[at : at + 1], reader, writer)
                await asyncio.sleep(TRICKLE_S)
        elif cut is Cut.HALF_CLOSED:
            writer.write_eof()
            self.is_half_closed = True
        elif cut is not None:
            if cut is Cut.WITHIN_ANSWER:
                await reader.readexactly(self.rng.randrange(1, 100))
            raise ConnectionAbortedError(cut)

    async def ask(self, *args: Any) -> tuple[int, dict[str, str], str]:
        answer = await super().ask(*args)
        if self.is_half_closed:
            self.close()
            self.is_half_closed = False
        return answer


def cut_and_slow(world: World, scale: Scale) -> Outcome:
    """People behind a bad network, who send again what was not answered."""
    struck = Counter[Cut]()
    ledger = Ledger(connect=partial(CutClient, rng=random.Random(world.seed), struck=struck))
    with world.site() as site, world.people(scale.of(5, 24), site.port, ledger=ledger):
        pass
    missing = tuple(f"no connection was {cut}" for cut in Cut if not struck[cut])
    return world.settle(ledger, sum(struck.values()), problems=missing)


def half_sent(world: World, scale: Scale) -> Outcome:
    """Forms that end within their body: 400 to who still listens, one line in the log, nothing stored."""
    n = scale.of(2, 20)
    problems = []
    with world.site() as site:
        for _ in range(n):
            with half_a_form(site.port) as connection:
                connection.sock.shutdown(socket.SHUT_WR)
                if (status := connection.getresponse().status) != 400:
                    problems.append(f"a truncated form got the status {status}")
            with half_a_form(site.port):
                pass  # closed
            with half_a_form(site.port) as connection:
                connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        until = time.monotonic() + LOGGED_WITHIN_S
        while (lines := refusals(site.log.read_text())) != 3 * n and time.monotonic() < until:
            time.sleep(0.1)
        if lines != 3 * n:
            problems.append(f"{3 * n} truncated forms caused {lines} lines of the log")
    return world.settle(Ledger(), 3 * n, problems=tuple(problems))


def refusals(log: str) -> int:
    return sum(REFUSED in line for line in log.splitlines())


@contextmanager
def half_a_form(port: int) -> Iterator[http.client.HTTPConnection]:
    """A connection on which the head of a request and half of its body were sent."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.putrequest("POST", ENTRY)
        connection.putheader("Content-Type", "application/x-www-form-urlencoded")
        connection.putheader("Content-Length", str(len(BODY)))
        connection.endheaders(BODY[: len(BODY) // 2])
        time.sleep(0.05)  # the site is reading the body by now
        yield connection


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
