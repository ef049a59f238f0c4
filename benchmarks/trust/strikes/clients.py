"""Faults of participants' browsers: answers and starts sent again, in several tabs, and all at once."""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from benchmarks.databases import using
from benchmarks.trust.outcome import Outcome, Scale
from benchmarks.trust.world import World
from benchmarks.web.client import REDIRECTS, Client
from benchmarks.web.people import HTML, JSON, Ledger, Person, hidden_fields, noted
from benchmarks.web.site import ENTRY, SLUG
from experiment.models import ItemCount, Participant, RecruitmentRecord, Study
from experiment.services.recounting import check

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
