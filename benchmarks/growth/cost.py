"""CPU time of a piece of work: of this process and of the PostgreSQL process behind its connection."""

import gc
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from django.db import connection

from benchmarks.web.processes import TICKS_PER_S

WARM_UP = 2


class Meter:
    """Of the database's connection as it is now; PostgreSQL is told to do all work in the one process."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET max_parallel_workers_per_gather = 0")
                cursor.execute("SELECT pg_backend_pid()")
                self._folder = Path(f"/proc/{cursor.fetchone()[0]}")

    def median_ms(self, works: Iterable[Callable[[], object]]) -> float:
        """The median work's CPU time, the first ones' not counted; what is done between two works is not either."""
        gc.collect()
        times = [self.ms(work) for work in works]
        return statistics.median(times[WARM_UP:] or times)

    def ms(self, work: Callable[[], object]) -> float:
        gc.disable()
        try:
            before = self._ns()
            work()
            return (self._ns() - before) / 1e6
        finally:
            gc.enable()

    def _ns(self) -> int:
        return time.process_time_ns() + (0 if self._folder is None else _of(self._folder))


def _of(folder: Path) -> int:
    """Nanoseconds; where the kernel does not count them, its ticks."""
    try:
        return int((folder / "schedstat").read_text().split()[0])
    except FileNotFoundError:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1_000_000_000 // TICKS_PER_S
