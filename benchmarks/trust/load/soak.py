"""Half of what the site can bear, for long, while it is struck again and again."""

import os
import signal
import time
from functools import partial
from itertools import cycle
from threading import Event, Thread

import numpy as np
import psycopg

from benchmarks.trust.check import SQLITE_ALONE, Check, Database, Part, Scale
from benchmarks.trust.load.memory import growth, held_mib
from benchmarks.trust.outcome import Figure, Outcome
from benchmarks.trust.people import Ledger
from benchmarks.trust.site import Site
from benchmarks.trust.world import World

WEB_PROCESSES = "3"
SHARE_OF_CAPACITY = 0.5
THINK_S = 3.0
STRIKES_EVERY_S = 20.0
STANDS_STILL_S = 2.0
WARM_SHARE = 0.25  # of the time, after which memory is first looked at
MOST_GROWTH, MOST_P95_MS = 0.10, 500.0
OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


SHORT_S, FULL_S, HOUR_S = 10, 90, 3600


def soak(world: World, scale: Scale, full_s: int = FULL_S) -> Outcome:
    seconds = scale.of(SHORT_S, full_s)
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
        Figure("requests a second that it can bear", per_s, ""),
        Figure("requests a second that came", n_came / seconds, ""),
        Figure("people", n, ""),
        Figure("95% of waits within", p95_ms, "ms", MOST_P95_MS if scale.is_full else None),
        Figure("longest wait", longest_ms, "ms"),
        Figure("memory of the largest process", max(after.values()), "MiB"),
        Figure(
            "growth of memory", growth(before, after), "", MOST_GROWTH if scale.is_full else None
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
                connection.execute(OTHERS)


CHECKS = (
    Check(
        "soak",
        "Up to half of what it can bear, with faults",
        Part.LOAD,
        soak,
        short_on=SQLITE_ALONE,
    ),
    Check(
        "hour",
        "Half of what it can bear for an hour, with faults",
        Part.LOAD,
        partial(soak, full_s=HOUR_S),
        only_if_named=True,
    ),
)
