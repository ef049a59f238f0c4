"""The benchmark's parts: journeys here and in oTree in turn, many people at once, a burst of starts, and SQLite."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.web.database import (
    create_database,
    postgres,
    postmaster_pid,
    refresh_statistics,
)
from benchmarks.web.material import make_items
from benchmarks.web.measuring import Crowd, Measured, measure, together
from benchmarks.web.otree import OTree, install_otree, serve_otree
from benchmarks.web.site import ENTRY, Serving, collect_static, make_study, serve_site
from benchmarks.web.walks import Walk, walk_otree, walk_site

AT_ONCE = 4  # people on the way at the same time where only CPU is measured
WARM_UP = 8  # journeys that are not counted: each process loads pages at its first visitor
LOCKED = "database is locked"


@dataclass(frozen=True, slots=True)
class Options:
    """What is asked of a run; `parts` are those of PARTS."""

    parts: tuple[str, ...]
    journeys: int
    blocks: int
    participants: int
    think_s: float
    starts: int
    sqlite: int
    with_otree: bool


@dataclass
class Results:
    """What the parts measured, those that ran."""

    journeys: dict[str, Measured] = field(default_factory=dict)
    ratios: dict[str, list[float]] = field(default_factory=dict)  # by block
    load: Measured | None = None
    starts: Measured | None = None
    sqlite: Measured | None = None
    locked: int = 0


@dataclass(frozen=True, slots=True)
class Way:
    """A way through a server: where each participant begins, and the processes that pay."""

    walk: Walk
    port: int
    roots: tuple[int, ...]
    entries: Callable[[int], Sequence[str] | str]

    def go(self, crowd: Crowd, ended: Callable[[], None]) -> Measured:
        return measure(self.walk, self.port, self.entries(crowd.n), crowd, self.roots, ended)


def count_journeys(options: Options) -> int:
    """Journeys of all parts, for a progress bar."""
    n_ways = 4 if options.with_otree else 2
    sizes = {
        "journeys": n_ways * (_warm_up(options.journeys) + options.blocks * options.journeys),
        "load": _warm_up(options.participants) + options.participants,
        "starts": _warm_up(options.starts) + options.starts,
        "sqlite": _warm_up(options.sqlite) + options.sqlite,
    }
    return sum(sizes[part] for part in options.parts)


def _warm_up(n: int) -> int:
    return min(WARM_UP, n)


def run_parts(
    options: Options, folder: Path, environments: Path, ended: Callable[[], None]
) -> Results:
    """Run the parts in turn; files in `folder`, oTree's environment in `environments`."""
    results = Results()
    collect_static(folder)
    if set(options.parts) - {"sqlite"}:
        with ExitStack() as stack:
            url = stack.enter_context(postgres())
            site = stack.enter_context(_site(url, folder))
            ways = _ways_here(site, postmaster_pid(url))
            if "journeys" in options.parts:
                with ExitStack() as others:
                    if options.with_otree:
                        otree = others.enter_context(_otree(url, folder, environments))
                        ways |= _ways_otree(otree, postmaster_pid(url))
                    analyze = partial(refresh_statistics, url, ("site", "otree")[: len(ways) // 2])
                    _journeys(options, ways, results, analyze, ended)
            way, analyze = ways["script"], partial(refresh_statistics, url, ("site",))
            if "load" in options.parts:
                crowd = Crowd(
                    options.participants, think_s=options.think_s, spread_s=options.think_s
                )
                results.load = _after_warming(way, crowd, ended, analyze)
            if "starts" in options.parts:
                results.starts = _after_warming(way, Crowd(options.starts), ended, analyze)
    if "sqlite" in options.parts:
        _sqlite(options, folder, results, ended)
    return results


def _ways_here(site: Serving, postmaster: int) -> dict[str, Way]:
    roots = (site.pid, postmaster)
    plain = partial(walk_site, plain=True)
    return {
        "script": Way(walk_site, site.port, roots, lambda n: ENTRY),
        "plain": Way(plain, site.port, roots, lambda n: ENTRY),
    }


def _ways_otree(otree: OTree, postmaster: int) -> dict[str, Way]:
    roots = (otree.serving.pid, postmaster)
    sockets = partial(walk_otree, sockets=True)
    return {
        "otree": Way(walk_otree, otree.serving.port, roots, otree.entries),
        "otree_sockets": Way(sockets, otree.serving.port, roots, otree.entries),
    }


def _journeys(
    options: Options,
    ways: dict[str, Way],
    results: Results,
    warmed: Callable[[], None],
    ended: Callable[[], None],
) -> None:
    """In blocks that take turns, so that what else the machine does falls on all alike."""
    for way in ways.values():
        way.go(Crowd(_warm_up(options.journeys), AT_ONCE), ended)
    warmed()
    found: dict[str, list[Measured]] = {name: [] for name in ways}
    for block in range(options.blocks):
        for name, way in ways.items():
            found[name].append(way.go(Crowd(options.journeys, AT_ONCE, seed=block + 2), ended))
    results.journeys = {name: together(blocks) for name, blocks in found.items()}
    if not options.with_otree:
        return
    for name, ours, theirs in (
        ("otree", "script", "otree"),
        ("otree_plain", "plain", "otree"),
        ("otree_sockets", "script", "otree_sockets"),
    ):
        pairs = zip(found[ours], found[theirs], strict=True)
        results.ratios[name] = [a.cpu_ms_per_journey / b.cpu_ms_per_journey for a, b in pairs]


def _after_warming(
    way: Way, crowd: Crowd, ended: Callable[[], None], warmed: Callable[[], None] = lambda: None
) -> Measured:
    way.go(Crowd(_warm_up(crowd.n), AT_ONCE), ended)
    warmed()
    return way.go(crowd, ended)


def _sqlite(options: Options, folder: Path, results: Results, ended: Callable[[], None]) -> None:
    url = f"sqlite:///{folder / 'site.sqlite3'}"
    make_study(url, make_items())
    with serve_site(url, folder) as site:
        way = Way(walk_site, site.port, (site.pid,), lambda n: ENTRY)
        crowd = Crowd(options.sqlite, think_s=options.think_s, spread_s=options.think_s)
        results.sqlite = _after_warming(way, crowd, ended)
        results.locked = site.log.read_text().count(LOCKED)


@contextmanager
def _site(server_url: str, folder: Path) -> Iterator[Serving]:
    url = create_database(server_url, "site")
    make_study(url, make_items())
    with serve_site(url, folder) as serving:
        yield serving


@contextmanager
def _otree(server_url: str, folder: Path, environments: Path) -> Iterator[OTree]:
    programs = install_otree(environments / "bench-otree")
    url = create_database(server_url, "otree")
    with serve_otree(programs, url, folder, make_items()) as otree:
        yield otree
