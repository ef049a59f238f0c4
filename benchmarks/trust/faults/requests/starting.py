"""Many begin at once: under the same id, and under none."""

import asyncio
from urllib.parse import urlencode

from benchmarks.trust.check import Check, Part, Scale
from benchmarks.trust.faults.requests.sending import as_another_tab, new_person
from benchmarks.trust.outcome import Outcome
from benchmarks.trust.people import Ledger, Person, noted
from benchmarks.trust.world import World
from benchmarks.web.client import REDIRECTS, Client
from benchmarks.web.database import using
from benchmarks.web.site import ENTRY, SLUG
from benchmarks.web.walks import hidden_fields
from experiment.models import ItemCount, Participant, RecruitmentRecord, Study
from experiment.services.recounting import check

AT_ONCE = 64
COPIES = 4
KNOWN = 409  # somebody takes part under this id


async def begin_as(number: int, port: int, ledger: Ledger) -> int:
    """One id in four browsers and, in the one that is let in, four times; how many browsers were let in."""
    link = f"{ENTRY}?PROLIFIC_PID=id-{number}&STUDY_ID=study&SESSION_ID=session-{number}"
    browsers = [new_person(port, ledger, COPIES * number + k) for k in range(COPIES)]
    await asyncio.gather(*(browser.open(link) for browser in browsers))
    said = await asyncio.gather(*(_agree(browser, browser.client) for browser in browsers))
    if strange := set(said) - {303, KNOWN}:
        ledger.problems.append(f"a start was answered {sorted(strange)}")
    let_in = [browser for browser, status in zip(browsers, said, strict=True) if status == 303]
    for browser in let_in:
        tabs = [as_another_tab(browser.client) for _ in range(COPIES)]
        again = await asyncio.gather(*(_agree(browser, tab) for tab in tabs))
        if set(again) != {303}:
            ledger.problems.append(f"a start sent again was answered {sorted(set(again))}")
        await browser.open(ENTRY)
        if "/about-you/" not in browser.page.path:
            ledger.problems.append(f"who was let in is led to {browser.page.path}")
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
    problems = [f"{n} browsers were let in under one id" for n in let_in if n != 1]
    with using(world.url):
        n_people, n_records = Participant.objects.count(), RecruitmentRecord.objects.count()
    if (n_people, n_records) != (n_ids, n_ids):
        problems.append(f"{n_people} participants and {n_records} ids of {n_ids}")
    return world.settle(ledger, COPIES * n_ids, all_finished=False, problems=tuple(problems))


def many_starts(world: World, scale: Scale) -> Outcome:
    """64 people begin at once, again and again; test cases are given out as evenly as one after another."""
    rounds, n, ledger = scale.of(1, 20), scale.of(32, AT_ONCE), Ledger()

    async def begin_all(port: int) -> None:
        for at in range(0, rounds * n, n):
            people = [new_person(port, ledger, at + k) for k in range(n)]
            await asyncio.gather(*(noted(person.begin(ENTRY), ledger) for person in people))
            for person in people:
                person.client.close()

    with world.site() as site:
        asyncio.run(begin_all(site.port))
    with using(world.url):
        problems = uneven(Study.objects.get(slug=SLUG), rounds * n)
    return world.settle(ledger, rounds * n, all_finished=False, problems=tuple(problems))


def uneven(study: Study, n_people: int) -> list[str]:
    """What is wrong with how often each test case was given out; everybody was given one."""
    problems = [str(drift) for drift in check([study])]
    given = 0
    for stratum in study.trial_counts:
        counts = ItemCount.objects.filter(study=study, kind=Participant.Kind.REAL, stratum=stratum)
        assigned = list(counts.values_list("assigned", flat=True))
        given += sum(assigned)
        if max(assigned) - min(assigned) > 1:
            problems.append(f"{stratum}: given out {min(assigned)} to {max(assigned)} times")
    return problems if given == n_people else [*problems, f"{given} given out to {n_people}"]


CHECKS = (
    Check(
        "same-ids",
        "16 ids of a recruitment site, each in 4 browsers at once",
        Part.REQUESTS,
        same_ids,
    ),
    Check("many-starts", "64 people begin at once, 20 times", Part.REQUESTS, many_starts),
)
