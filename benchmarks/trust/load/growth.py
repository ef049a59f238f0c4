"""What draws and pages cost in a small study and in a large one."""

from benchmarks.growth.measuring import Growth, measure_study
from benchmarks.trust.check import Check, Part, Scale
from benchmarks.trust.outcome import Figure, Outcome
from benchmarks.trust.world import World

SIZES, SHORT_SIZES = (100, 1_000, 10_000), (20, 100)
REPEATS, SHORT_REPEATS = 9, 3
MOST_TIMES_DEARER = 2.0  # at a hundred times the size
TITLES = {
    "draw": "draw of a test case",
    "consent": "consent, page and answer",
    "study_page": "the lab's page of a study",
    "live": "its live part",
    "studies": "the lab's list of studies",
    "results": "results page without a kept report",
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


CHECKS = (
    Check(
        "growth",
        "Cost of work as a study grows, CPU time",
        Part.GROWTH,
        growth,
        short_on=(),  # tests/benchmarks/growth run the same
    ),
)
