"""Walks of many participants through a server, and what they cost it."""

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import repeat
from typing import Any

import numpy as np

from benchmarks.web.client import Client, Record
from benchmarks.web.processes import tree_cpu_s
from benchmarks.web.walks import Visitor, Walk, travel

SETTLES_S = 0.5  # until the server has finished what no one waits for
AT_ONCE = 4  # people on the way at the same time


@dataclass(frozen=True, slots=True)
class Measured:
    """What journeys cost and how they were served. Times of requests in milliseconds, medians of the blocks'."""

    journeys: int
    failed: int
    requests: int
    cpu_s: float
    p50_ms: float
    p95_ms: float
    page_p95_ms: float  # from leaving a page to having the next one
    dropped: int
    errors: int  # answers with a status of 500 or more
    reasons: tuple[str, ...] = ()

    @property
    def cpu_ms_per_journey(self) -> float:
        return 1000 * self.cpu_s / self.journeys if self.journeys else float("nan")

    @property
    def requests_per_journey(self) -> float:
        return self.requests / self.journeys if self.journeys else float("nan")

    def as_json(self) -> dict[str, Any]:
        """All of it, the shares per journey included; None for what no journey showed."""
        shares = {
            "cpu_ms_per_journey": self.cpu_ms_per_journey,
            "requests_per_journey": self.requests_per_journey,
        }
        values = asdict(self) | shares
        return {
            name: None if value != value else round(value, 2) if isinstance(value, float) else value
            for name, value in values.items()
        }


def measure(
    walk: Walk,
    port: int,
    entries: Sequence[str] | str,
    n: int,
    seed: int,
    roots: Sequence[int],
    ended: Callable[[], None],
) -> Measured:
    """Let `n` people walk, and count the CPU of all processes below `roots` meanwhile; `ended` is called after each journey."""
    record, begin_s = Record(), tree_cpu_s(roots)
    # In a thread of its own: the caller's may have a loop that runs
    with ThreadPoolExecutor(1) as pool:
        walks = _walk_all(walk, port, entries, n, seed, record, ended)
        pool.submit(asyncio.run, walks).result()
    time.sleep(SETTLES_S)
    cpu_s = tree_cpu_s(roots) - begin_s
    requests_ms = 1000 * np.array(record.request_s or [np.nan])
    pages_ms = 1000 * np.array(record.page_s or [np.nan])
    return Measured(
        journeys=record.journeys,
        failed=len(record.failed),
        requests=record.requests,
        cpu_s=cpu_s,
        p50_ms=float(np.percentile(requests_ms, 50)),
        p95_ms=float(np.percentile(requests_ms, 95)),
        page_p95_ms=float(np.percentile(pages_ms, 95)),
        dropped=record.dropped,
        errors=sum(n for status, n in record.statuses.items() if status >= 500),
        reasons=tuple(dict.fromkeys(record.failed))[:5],
    )


async def _walk_all(
    walk: Walk,
    port: int,
    entries: Sequence[str] | str,
    n: int,
    seed: int,
    record: Record,
    ended: Callable[[], None],
) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, entry: str) -> None:
        client = Client("127.0.0.1", port, record)
        visitor = Visitor(client, entry, random.Random(seed * 10_000 + number))
        async with gate:
            await travel(record, visitor, walk)
            ended()

    each = repeat(entries) if isinstance(entries, str) else entries
    people = zip(range(n), each, strict=False)
    await asyncio.gather(*(one(number, entry) for number, entry in people))


def together(blocks: Sequence[Measured]) -> Measured:
    """Sums of the blocks; times are the medians of theirs."""

    def median(times: Iterable[float]) -> float:
        return float(np.median(list(times)))

    return Measured(
        journeys=sum(block.journeys for block in blocks),
        failed=sum(block.failed for block in blocks),
        requests=sum(block.requests for block in blocks),
        cpu_s=sum(block.cpu_s for block in blocks),
        p50_ms=median(block.p50_ms for block in blocks),
        p95_ms=median(block.p95_ms for block in blocks),
        page_p95_ms=median(block.page_p95_ms for block in blocks),
        dropped=sum(block.dropped for block in blocks),
        errors=sum(block.errors for block in blocks),
        reasons=tuple(reason for block in blocks for reason in block.reasons)[:5],
    )
