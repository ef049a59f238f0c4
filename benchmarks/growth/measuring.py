"""A study is filled to one size after the other, and every work is measured at each."""

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from django.conf import settings
from django.db import connection
from django.test import override_settings

from benchmarks.databases import using
from benchmarks.growth import works
from benchmarks.growth.filling import TABLES, Crowd
from benchmarks.web.material import make_items
from benchmarks.web.site import SLUG, make_study
from experiment.models import Study, Trial

WARM_UP = 2
WORKS = ("draw", "consent", "study_page", "live", "studies", "results")


class Meter:
    """CPU time of a piece of work: of this process, and of PostgreSQL's for the connection as it is now, which is to do all alone."""

    def __init__(self) -> None:
        self._backend: psutil.Process | None = None
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET max_parallel_workers_per_gather = 0")
                cursor.execute("SELECT pg_backend_pid()")
                self._backend = psutil.Process(cursor.fetchone()[0])

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
        return time.process_time_ns() + (0 if self._backend is None else _of(self._backend))


def _of(process: psutil.Process) -> int:
    """Nanoseconds; where the kernel does not count them, its ticks."""
    try:
        return int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0])
    except FileNotFoundError:
        return int(1e9 * sum(process.cpu_times()[:2]))


@dataclass
class Growth:
    """CPU-milliseconds by work and number of finished participants; `bytes_per_trial`, of the greatest size."""

    cpu_ms: dict[str, dict[int, float]] = field(default_factory=lambda: {n: {} for n in WORKS})
    bytes_per_trial: dict[str, float] = field(default_factory=dict)

    def ratio(self, work: str) -> float:
        """Cost at the greatest size, over that at the smallest."""
        by_size = self.cpu_ms[work]
        return by_size[max(by_size)] / by_size[min(by_size)]

    def exponent(self, work: str) -> float:
        """The power of the size with which the cost grows, from the smallest to the greatest."""
        sizes = self.cpu_ms[work]
        if len(sizes) < 2:
            return 0.0
        return math.log(self.ratio(work)) / math.log(max(sizes) / min(sizes))


def measure(
    url: str, sizes: Sequence[int], repeats: int, announce: Callable[[str, int], None]
) -> Growth:
    """In the (empty) database at `url`; sizes ascend, and are multiples of the first."""
    make_study(url, make_items())
    return measure_study(url, sizes, repeats, announce)


def measure_study(
    url: str, sizes: Sequence[int], repeats: int, announce: Callable[[str, int], None]
) -> Growth:
    """The same where the study is there already, without participants."""
    found = Growth()
    with using(url), as_served():
        study = Study.objects.get(slug=SLUG)
        study.target_valid = 10**9  # so that whether the study is full is looked up
        study.save()
        crowd = Crowd(study, sizes[0])
        for size in sizes:
            announce("filling", crowd.finished)
            crowd.grow(size, lambda n: announce("filling", n))
            announce("measuring", size)
            for work, ms in measure_works(study, repeats).items():
                found.cpu_ms[work][size] = ms
        found.bytes_per_trial = bytes_per_trial()
    return found


def measure_works(study: Study, repeats: int) -> dict[str, float]:
    """CPU-milliseconds of each work; its median."""
    meter = Meter()
    measured = {
        "draw": works.draws(study, max(2, repeats // 2)),
        "consent": works.consents(study, repeats),
        **works.pages(study, repeats),
    }
    return {name: meter.median_ms(measured[name]) for name in WORKS}


def bytes_per_trial() -> dict[str, float]:
    """Bytes of each table, with its indexes and what is stored out of line, per trial; empty on SQLite."""
    if connection.vendor != "postgresql":
        return {}
    n = Trial.objects.count()
    found = {}
    with connection.cursor() as cursor:
        for model in TABLES:
            table = model._meta.db_table
            cursor.execute("SELECT pg_total_relation_size(%s), pg_relation_size(%s)", [table] * 2)
            total, rows = cursor.fetchone()
            found[str(model._meta.model_name)] = rows / n
            found[f"{model._meta.model_name}_indexes"] = (total - rows) / n
    return found


@contextmanager
def as_served() -> Iterator[None]:
    """Requests of this process to itself, with the static files' plain names."""
    plain = "django.contrib.staticfiles.storage.StaticFilesStorage"
    storages = settings.STORAGES | {"staticfiles": {"BACKEND": plain}}
    with override_settings(ALLOWED_HOSTS=["*"], STORAGES=storages):
        yield


def as_rows(growth: Mapping[str, Growth]) -> Iterator[dict[str, str]]:
    """A table's: by database and work, the cost at each size, the ratio and the exponent."""
    for database, found in growth.items():
        for work in WORKS:
            by_size = found.cpu_ms[work]
            yield {
                "database": database,
                "CPU ms at": work,
                **{f"{size:,}": f"{ms:.1f}" for size, ms in sorted(by_size.items())},
                "ratio": f"{found.ratio(work):.2f}",
                "exponent": f"{found.exponent(work):.3f}",
            }
