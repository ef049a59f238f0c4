"""The same page sent many times, in two tabs, with the back button, and loaded anew in the midst."""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from benchmarks.trust.check import SQLITE_ALONE, Check, Part, Scale
from benchmarks.trust.outcome import Outcome
from benchmarks.trust.people import HTML, JSON, Ledger, Person, noted
from benchmarks.trust.world import World
from benchmarks.web.client import REDIRECTS, Client
from benchmarks.web.site import ENTRY
from benchmarks.web.walks import hidden_fields

TOLD = 409  # that another answer is stored, or that the page is another one


@dataclass(frozen=True, slots=True)
class Said:
    """What one request was answered; `next` is where an accepted one leads."""

    status: int
    next: str = ""


def new_person(port: int, ledger: Ledger, number: int) -> Person:
    return Person(number, Client("127.0.0.1", port, ledger.record, tries=1), ledger, think_s=0.0)


def as_another_tab(client: Client) -> Client:
    """A connection of its own, with the same cookies."""
    tab = Client(client.host, client.port, client.record, tries=1)
    tab.cookies = client.cookies
    return tab


async def post(client: Client, path: str, form: dict[str, str], *, script: bool) -> Said:
    body, accept = urlencode(form).encode(), JSON if script else HTML
    status, headers, text = await client.ask("POST", path, body, accept)
    if status in REDIRECTS:
        return Said(status, client.path_of(headers["location"]))
    return Said(status, json.loads(text)["next"] if status == 200 and script else "")


async def in_tabs(person: Person, forms: list[dict[str, str]]) -> list[Said]:
    """Each form from a tab of its own at the same moment, by the script and without it in turns."""
    tabs = [as_another_tab(person.client) for _ in forms]
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
        person.ledger.problems.append(f"of {n} different answers {len(taken)} were taken")
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
    path, tabs = person.page.path, [as_another_tab(person.client) for _ in range(n)]

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

    async def all_walk(port: int) -> None:
        people = [new_person(port, ledger, k) for k in range(scale.of(1, 4))]
        await asyncio.gather(*(noted(walk(person), ledger) for person in people))

    with world.site() as site:
        asyncio.run(all_walk(site.port))
    return world.settle(ledger, cases)


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
        second = Person(first.number + 1, as_another_tab(first.client), ledger, think_s=0.0)
        await asyncio.gather(go_on(first), go_on(second))
        await first.end()

    async def all_walk(port: int) -> None:
        people = [new_person(port, ledger, 2 * k) for k in range(scale.of(2, 12))]
        await asyncio.gather(*(noted(walk(person), ledger) for person in people))

    with world.site() as site:
        asyncio.run(all_walk(site.port))
    return world.settle(ledger, len(ledger.acknowledged) + told)


CHECKS = (
    Check(
        "sent-again",
        "Answers sent 50 times, changed, after going back, while reloading",
        Part.REQUESTS,
        sent_again,
    ),
    Check("two-tabs", "Two tabs walk the same way", Part.REQUESTS, two_tabs, short_on=SQLITE_ALONE),
)
