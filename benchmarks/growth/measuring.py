"""A study is filled to one size after the other, and every work is measured at each."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.conf import settings
from django.db import connection
from django.test import override_settings

from benchmarks.databases import using
from benchmarks.growth import works
from benchmarks.growth.cost import Meter
from benchmarks.growth.filling import TABLES, Crowd
from benchmarks.web.material import make_items
from benchmarks.web.site import SLUG, make_study
from experiment.models import Study, Trial

WORKS = ("draw", "consent", "study_page", "live", "studies", "results")


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
    """Of each table, with its indexes and what is stored out of line, per trial; empty on SQLite."""
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
