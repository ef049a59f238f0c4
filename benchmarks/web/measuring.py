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


@dataclass(frozen=True, slots=True)
class Crowd:
    """How many people come, how fast they read, and how their starts are spread."""

    n: int
    at_once: int = 0  # 0: all
    think_s: float = 0.0
    spread_s: float = 0.0
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Measured:
    """What a crowd cost and how it was served. Times of requests in milliseconds."""

    journeys: int
    failed: int
    requests: int
    cpu_s: float
    wall_s: float
    p50_ms: float
    p95_ms: float
    max_ms: float
    page_p50_ms: float  # from leaving a page to having the next one
    page_p95_ms: float
    dropped: int
    reopened: int
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
        return {k: None if v != v else _rounded(v) for k, v in values.items()}


def _rounded(value: Any) -> Any:
    return round(value, 2) if isinstance(value, float) else value


def measure(
    walk: Walk,
    port: int,
    entries: Sequence[str] | str,
    crowd: Crowd,
    roots: Sequence[int],
    ended: Callable[[], None] = lambda: None,
) -> Measured:
    """Let a crowd walk, and count the CPU of all processes below `roots` meanwhile; `ended` is called after each journey."""
    record = Record()
    begin_cpu, begin = tree_cpu_s(roots), time.perf_counter()
    # In a thread of its own: the caller's may have a loop that runs
    with ThreadPoolExecutor(1) as pool:
        crowd_walks = _walk_all(walk, port, entries, crowd, record, ended)
        pool.submit(asyncio.run, crowd_walks).result()
    wall_s = time.perf_counter() - begin
    time.sleep(SETTLES_S)
    return summed(record, tree_cpu_s(roots) - begin_cpu, wall_s)


async def _walk_all(
    walk: Walk,
    port: int,
    entries: Sequence[str] | str,
    crowd: Crowd,
    record: Record,
    ended: Callable[[], None],
) -> None:
    gate = asyncio.Semaphore(crowd.at_once or crowd.n)
    rng = random.Random(crowd.seed)

    async def one(number: int, entry: str) -> None:
        client = Client("127.0.0.1", port, record)
        visitor = Visitor(client, entry, crowd.think_s, random.Random(crowd.seed * 10_000 + number))
        async with gate:
            await travel(record, visitor, walk, starts[number])
            ended()

    starts = [rng.uniform(0, crowd.spread_s) for _ in range(crowd.n)]
    each = repeat(entries) if isinstance(entries, str) else entries
    people = zip(range(crowd.n), each, strict=False)
    await asyncio.gather(*(one(number, entry) for number, entry in people))


def summed(record: Record, cpu_s: float, wall_s: float) -> Measured:
    requests_ms = 1000 * np.array(record.request_s or [np.nan])
    pages_ms = 1000 * np.array(record.page_s or [np.nan])
    p50, p95 = np.percentile(requests_ms, [50, 95])
    page_p50, page_p95 = np.percentile(pages_ms, [50, 95])
    return Measured(
        journeys=record.journeys,
        failed=len(record.failed),
        requests=record.requests,
        cpu_s=cpu_s,
        wall_s=wall_s,
        p50_ms=float(p50),
        p95_ms=float(p95),
        max_ms=float(requests_ms.max()),
        page_p50_ms=float(page_p50),
        page_p95_ms=float(page_p95),
        dropped=record.dropped,
        reopened=record.reopened,
        errors=sum(n for status, n in record.statuses.items() if status >= 500),
        reasons=tuple(dict.fromkeys(record.failed))[:5],
    )


def together(blocks: Sequence[Measured]) -> Measured:
    """Sums of the blocks; times are the medians of theirs."""

    def median(times: Iterable[float]) -> float:
        return float(np.median(list(times)))

    return Measured(
        journeys=sum(block.journeys for block in blocks),
        failed=sum(block.failed for block in blocks),
        requests=sum(block.requests for block in blocks),
        cpu_s=sum(block.cpu_s for block in blocks),
        wall_s=sum(block.wall_s for block in blocks),
        p50_ms=median(block.p50_ms for block in blocks),
        p95_ms=median(block.p95_ms for block in blocks),
        max_ms=max(block.max_ms for block in blocks),
        page_p50_ms=median(block.page_p50_ms for block in blocks),
        page_p95_ms=median(block.page_p95_ms for block in blocks),
        dropped=sum(block.dropped for block in blocks),
        reopened=sum(block.reopened for block in blocks),
        errors=sum(block.errors for block in blocks),
        reasons=tuple(reason for block in blocks for reason in block.reasons)[:5],
    )
