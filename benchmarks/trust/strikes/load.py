"""A full classroom, half of what the site can bear for long, and studies that grow."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import cycle
from threading import Event, Thread

import numpy as np
import psutil
import psycopg
from django.conf import settings

from benchmarks.growth.measuring import Growth, measure_study
from benchmarks.trust.outcome import Database, Figure, Outcome, Scale
from benchmarks.trust.strikes.database import END_CONNECTIONS
from benchmarks.trust.world import World
from benchmarks.web.people import Ledger
from benchmarks.web.site import Site

PER_MINUTE = 10_000
FORMS_SHARE = 0.1  # at least: half as many as are sent with a token
# An answer of each every three seconds: many times as fast as people read two versions of an abstract
THINK_S, SPREAD_S = 3.0, 4.0
MOST_TIMES_SLOWER = 2.0
REFUSED = (403, 429)


def classroom(world: World, scale: Scale) -> Outcome:
    n = scale.of(short=8, full=64)
    think_s = THINK_S if scale.is_full else 0.1
    with world.site() as site:
        alone, beside = Ledger(), Ledger()
        with world.people(n, site.port, think_s=think_s, spread_s=SPREAD_S, ledger=alone):
            pass
        with (
            strangers(site) as told,
            world.people(n, site.port, think_s=think_s, spread_s=SPREAD_S, ledger=beside),
        ):
            pass
        p95 = [float(np.percentile(ledger.waited_s, 95)) for ledger in (alone, beside)]
        refused = sum(led.record.statuses[code] for led in (alone, beside) for code in REFUSED)
    slower = Figure(
        "95th percentile of waits, divided by the same percentile without bad requests",
        p95[1] / p95[0],
        "",
        MOST_TIMES_SLOWER if scale.is_full else None,
    )
    return world.settle(
        alone.with_all(beside),
        2 * n,
        figures=(
            Figure("bad requests per minute", told["per_minute"], ""),
            Figure("forms among them that were read, per minute", told["forms_per_minute"], ""),
            Figure("95th percentile of waits alone", 1000 * p95[0], "ms"),
            Figure("95th percentile of waits during bad requests", 1000 * p95[1], "ms"),
            slower,
        ),
        # In short form, whatever the machine, as many as it can send
        problems=tuple(wrong(refused, told, PER_MINUTE if scale.is_full else 0)),
    )


def wrong(refused: int, told: Mapping[str, float], wanted: float) -> Iterator[str]:
    if refused:
        yield f"{refused} requests of the class were refused"
    if told["per_minute"] < 0.9 * wanted:
        yield f"only {told['per_minute']:.0f} bad requests per minute arrived"
    if told["forms_per_minute"] < FORMS_SHARE * told["per_minute"]:
        yield f"only {told['forms_per_minute']:.0f} forms per minute among them were read"
    if told["errors"]:
        yield f"{told['errors']:.0f} bad requests were answered 500"


@contextmanager
def strangers(site: Site) -> Iterator[dict[str, float]]:
    """In a process of their own, so that they do not slow the class's own clock; what they say of themselves at their end."""
    module = "benchmarks.trust.strangers"
    command = [sys.executable, "-m", module, str(site.port), str(PER_MINUTE / 60)]
    process = subprocess.Popen(command, cwd=settings.BASE_DIR, stdout=subprocess.PIPE, text=True)
    told: dict[str, float] = {}
    try:
        yield told
    finally:
        process.terminate()
        said, _ = process.communicate()
    told |= json.loads(said)


def held_mib(pids: Iterable[int]) -> dict[int, float]:
    """Proportional set size of each process that lives, in MiB: a page that n processes share counts 1/n."""
    found = {}
    for pid in pids:
        with suppress(psutil.NoSuchProcess):  # it ended meanwhile
            found[pid] = psutil.Process(pid).memory_full_info().pss / 2**20
    return found


def grown(before: Mapping[int, float], after: Mapping[int, float]) -> float:
    """The growth in memory, as a share, of the most grown process among those that lived all along.

    >>> grown({1: 100.0, 2: 80.0}, {2: 84.0, 3: 500.0})
    0.05

    Infinite where none did: then nothing was shown.
    """
    lived = before.keys() & after.keys()
    return max((round(after[pid] / before[pid] - 1, 4) for pid in lived), default=math.inf)


WEB_PROCESSES = "3"
SHARE_OF_CAPACITY = 0.5
STRIKES_EVERY_S = 20.0
STANDS_STILL_S = 2.0
WARM_SHARE = 0.25  # of the time, after which memory is first looked at
MOST_GROWTH, MOST_P95_MS = 0.10, 500.0


HOUR_S = 3600


def soak(world: World, scale: Scale, full_s: int = 90) -> Outcome:
    seconds = scale.of(10, full_s)
    with world.site(WORKERS=WEB_PROCESSES) as site:
        first = Ledger()
        per_s, per_journey = capacity(world, site, first, scale)
        arrivals_per_s = SHARE_OF_CAPACITY * per_s / per_journey
        think_s = THINK_S if scale.is_full else 0.3
        n = max(4, round(arrivals_per_s * seconds))
        then, over = Ledger(), Event()
        struck: list[str] = []
        striker = Thread(target=strike, args=(world, site, over, struck, scale), daemon=True)
        with world.people(n, site.port, think_s=think_s, spread_s=seconds, ledger=then):
            striker.start()
            time.sleep(WARM_SHARE * seconds)
            before = held_mib(site.web_processes())
            time.sleep((1 - WARM_SHARE) * seconds)
            after = held_mib(site.web_processes())
            n_came = len(then.waited_s)
            over.set()
            striker.join()
    p95_ms, longest_ms = (1000 * float(np.percentile(then.waited_s, q)) for q in (95, 100))
    figures = (
        Figure("capacity in requests per second", per_s, ""),
        Figure("requests per second", n_came / seconds, ""),
        Figure("people", n, ""),
        Figure("95th percentile of waits", p95_ms, "ms", MOST_P95_MS if scale.is_full else None),
        Figure("longest wait", longest_ms, "ms"),
        Figure("memory of the largest process", max(after.values()), "MiB"),
        Figure(
            "growth of memory", grown(before, after), "", MOST_GROWTH if scale.is_full else None
        ),
    )
    return world.settle(first.with_all(then), len(struck), figures=figures)


def capacity(world: World, site: Site, ledger: Ledger, scale: Scale) -> tuple[float, float]:
    """Requests a second when everybody answers at once, and requests of a journey."""
    n = scale.of(short=8, full=96)
    with world.people(scale.of(4, 16), site.port, think_s=0.0, spread_s=0.0, ledger=ledger):
        pass  # each process loads its pages at its first visitor
    warm = len(ledger.record.request_s)
    began = time.monotonic()
    with world.people(n, site.port, think_s=0.0, spread_s=0.0, ledger=ledger):
        pass
    requests = len(ledger.record.request_s) - warm
    return requests / (time.monotonic() - began), requests / n


def strike(world: World, site: Site, over: Event, struck: list[str], scale: Scale) -> None:
    """Until it is over: the youngest process is killed, or stands still for a while, or all connections to the database end."""
    kinds = ["kill", "pause", *(["cut"] if world.kind is Database.POSTGRESQL else [])]
    every_s = STRIKES_EVERY_S if scale.is_full else 2.0
    for kind in cycle(kinds):
        if over.wait(every_s):
            return
        struck.append(kind)
        youngest = site.web_processes()[-1]
        if kind == "kill":
            os.kill(youngest, signal.SIGKILL)
        elif kind == "pause":
            os.kill(youngest, signal.SIGSTOP)
            over.wait(STANDS_STILL_S)
            os.kill(youngest, signal.SIGCONT)
        else:
            with psycopg.connect(world.url, autocommit=True) as connection:
                connection.execute(END_CONNECTIONS)


SIZES, SHORT_SIZES = (100, 1_000, 10_000), (20, 100)
REPEATS, SHORT_REPEATS = 9, 3
MOST_TIMES_DEARER = 2.0  # at a hundred times the size
TITLES = {
    "draw": "draw of a test case",
    "consent": "consent, page and answer",
    "study_page": "the lab's page of a study",
    "live": "live part of that page",
    "studies": "the lab's list of studies",
    "results": "results page without a stored report",
}


def growth(world: World, scale: Scale) -> Outcome:
    sizes = SIZES if scale.is_full else SHORT_SIZES
    repeats = scale.of(SHORT_REPEATS, REPEATS)
    found = measure_study(world.url, sizes, repeats, lambda what, n: None)
    return Outcome(
        cases=sizes[-1],
        figures=tuple(figure for work in TITLES for figure in of_work(found, work, scale.is_full)),
    )


def of_work(found: Growth, work: str, is_full: bool) -> list[Figure]:
    """CPU at each size, and how much dearer it is at the last than at the first."""
    each = [Figure(f"{n:,}", ms, "ms", of=TITLES[work]) for n, ms in found.cpu_ms[work].items()]
    limit = MOST_TIMES_DEARER if is_full else None
    return [*each, Figure("ratio", found.ratio(work), "times", limit, of=TITLES[work])]
