"""Journeys of participants here and in oTree, in turn, and what they cost all processes of the servers."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.databases import create_database, postgres, postmaster_pid, refresh_statistics
from benchmarks.web.material import make_items
from benchmarks.web.otree import OTree, OTreePerson, install_otree, serve_otree
from benchmarks.web.people import Ledger, Person, noted
from benchmarks.web.site import ENTRY, Site, collect_static, make_study, serve_site

SETTLES_S = 0.5  # until the server has finished what no one waits for
AT_ONCE = 4  # people on the way at the same time
WARM_UP = 8  # journeys that are not counted: each process loads pages at its first visitor
# Ours, and theirs
RATIOS = {"otree": ("script", "otree"), "otree_plain": ("plain", "otree")}


@dataclass
class Way:
    """A way through a server: who walks it, where each participant begins, the processes that pay, and what journeys cost so far."""

    walker: Callable[[int, int, Ledger], Person]  # of a number, a port and a ledger
    port: int
    roots: tuple[int, ...]
    entries: Callable[[int], Sequence[str] | str]
    ledger: Ledger = field(default_factory=Ledger)
    block_cpu_ms: list[float] = field(default_factory=list)  # of a journey, in each block
    cpu_s: float = 0.0

    def forget(self) -> None:
        self.ledger, self.block_cpu_ms, self.cpu_s = Ledger(), [], 0.0

    def go(self, n: int, seed: int, ended: Callable[[], None]) -> None:
        """Let `n` people walk, and count the CPU of all processes meanwhile; `ended` is called after each journey."""
        before, begin_s = self.ledger.finished, tree_cpu_s(self.roots)
        # In a thread of its own: the caller's may have a loop that runs
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, self._walk_all(n, seed, ended)).result()
        time.sleep(SETTLES_S)
        spent_s = tree_cpu_s(self.roots) - begin_s
        n_done = self.ledger.finished - before
        self.cpu_s += spent_s
        self.block_cpu_ms.append(1000 * spent_s / n_done if n_done else np.nan)

    async def _walk_all(self, n: int, seed: int, ended: Callable[[], None]) -> None:
        entries = self.entries(n)
        each = repeat(entries) if isinstance(entries, str) else entries
        waiting = iter(list(zip(range(n), each, strict=False)))

        async def place() -> None:
            for number, entry in waiting:
                person = self.walker(seed * 10_000 + number, self.port, self.ledger)
                await noted(person.take_part(entry), self.ledger)
                ended()

        await asyncio.gather(*(place() for _ in range(AT_ONCE)))

    def found(self) -> dict[str, Any]:
        """Figures of what journeys cost and how they were served; None for what no journey showed."""
        record, n = self.ledger.record, self.ledger.finished
        requests_ms, pages_ms = (
            1000 * np.array(times or [np.nan]) for times in (record.request_s, self.ledger.page_s)
        )
        figures = {
            "cpu_s": self.cpu_s,
            "p50_ms": np.percentile(requests_ms, 50),
            "p95_ms": np.percentile(requests_ms, 95),
            "page_p95_ms": np.percentile(
                pages_ms, 95
            ),  # from leaving a page to having the next one
            "cpu_ms_per_journey": 1000 * self.cpu_s / n if n else np.nan,
            "requests_per_journey": len(record.request_s) / n if n else np.nan,
        }
        return {
            "journeys": n,
            "failed": len(self.ledger.problems),
            "requests": len(record.request_s),
            **{k: None if np.isnan(v) else round(float(v), 2) for k, v in figures.items()},
            "dropped": record.dropped,
            "errors": sum(n for status, n in record.statuses.items() if status >= 500),
            "reasons": list(dict.fromkeys(self.ledger.problems))[:5],
        }


def compare(
    journeys: int, blocks: int, folder: Path, environments: Path | None, ended: Callable[[], None]
) -> dict[str, Way]:
    """In blocks that take turns, so that what else the machine does falls on all alike.

    Files in `folder`, oTree's environment in `environments`; without one there is no oTree.
    """
    collect_static(folder)
    with ExitStack() as stack:
        url = stack.enter_context(postgres())
        site = stack.enter_context(_site(url, folder))
        postmaster, names = postmaster_pid(url), ["site"]
        roots = (site.pid, postmaster)
        ways = {
            "script": Way(partial(Person, scripted=True), site.port, roots, lambda n: ENTRY),
            "plain": Way(partial(Person, scripted=False), site.port, roots, lambda n: ENTRY),
        }
        if environments is not None:
            otree = stack.enter_context(_otree(url, folder, environments))
            names.append("otree")
            ways["otree"] = Way(OTreePerson, otree.port, (otree.pid, postmaster), otree.entries)
        for way in ways.values():
            way.go(min(WARM_UP, journeys), 1, ended)
            way.forget()
        refresh_statistics(url, names)
        for block in range(blocks):
            for way in ways.values():
                way.go(journeys, block + 2, ended)
    return ways


def ratios(ways: dict[str, Way]) -> dict[str, list[float]]:
    """CPU of a journey here to one there, by block."""
    return {
        name: [
            a / b for a, b in zip(ways[ours].block_cpu_ms, ways[theirs].block_cpu_ms, strict=True)
        ]
        for name, (ours, theirs) in RATIOS.items()
        if theirs in ways
    }


def tree_cpu_s(roots: Sequence[int]) -> float:
    """CPU seconds of these processes and all below them, those that have ended included.

    What ended is in its parent's account once the parent has asked for it, as gunicorn, PostgreSQL and oTree do.
    """
    found = 0.0
    for root in map(psutil.Process, roots):
        for process in (root, *root.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):  # it ended meanwhile
                found += sum(process.cpu_times()[:4])
    return found


def count_journeys(journeys: int, blocks: int, with_otree: bool) -> int:
    """The number of journeys of all ways, for a progress bar."""
    return (3 if with_otree else 2) * (min(WARM_UP, journeys) + blocks * journeys)


@contextmanager
def _site(server_url: str, folder: Path) -> Iterator[Site]:
    url = create_database(server_url, "site")
    make_study(url, make_items())
    with serve_site(url, folder) as site:
        yield site


@contextmanager
def _otree(server_url: str, folder: Path, environments: Path) -> Iterator[OTree]:
    programs = install_otree(environments / "bench-otree")
    url = create_database(server_url, "otree")
    with serve_otree(programs, url, folder, make_items()) as otree:
        yield otree
