"""Journeys of participants here and in oTree, in turn."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benchmarks.databases import (
    create_database,
    postgres,
    postmaster_pid,
    refresh_statistics,
)
from benchmarks.web.material import make_items
from benchmarks.web.measuring import Measured, measure, together
from benchmarks.web.otree import OTree, install_otree, serve_otree
from benchmarks.web.site import ENTRY, Serving, collect_static, make_study, serve_site
from benchmarks.web.walks import Walk, walk_otree, walk_site

WARM_UP = 8  # journeys that are not counted: each process loads pages at its first visitor
# Ours, and theirs
RATIOS = {"otree": ("script", "otree"), "otree_plain": ("plain", "otree")}


@dataclass
class Results:
    journeys: dict[str, Measured] = field(default_factory=dict)
    ratios: dict[str, list[float]] = field(default_factory=dict)  # by block


@dataclass(frozen=True, slots=True)
class Way:
    """A way through a server: where each participant begins, and the processes that pay."""

    walk: Walk
    port: int
    roots: tuple[int, ...]
    entries: Callable[[int], Sequence[str] | str]

    def go(self, n: int, seed: int, ended: Callable[[], None]) -> Measured:
        return measure(self.walk, self.port, self.entries(n), n, seed, self.roots, ended)


def compare(
    journeys: int, blocks: int, folder: Path, environments: Path | None, ended: Callable[[], None]
) -> Results:
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
            "script": Way(walk_site, site.port, roots, lambda n: ENTRY),
            "plain": Way(partial(walk_site, plain=True), site.port, roots, lambda n: ENTRY),
        }
        if environments is not None:
            otree = stack.enter_context(_otree(url, folder, environments))
            names.append("otree")
            roots = (otree.serving.pid, postmaster)
            ways["otree"] = Way(walk_otree, otree.serving.port, roots, otree.entries)
        for way in ways.values():
            way.go(min(WARM_UP, journeys), 1, ended)
        refresh_statistics(url, names)
        found: dict[str, list[Measured]] = {name: [] for name in ways}
        for block in range(blocks):
            for name, way in ways.items():
                found[name].append(way.go(journeys, block + 2, ended))
    results = Results({name: together(measured) for name, measured in found.items()})
    for name, (ours, theirs) in RATIOS.items():
        if theirs in found:
            pairs = zip(found[ours], found[theirs], strict=True)
            ratios = [a.cpu_ms_per_journey / b.cpu_ms_per_journey for a, b in pairs]
            results.ratios[name] = ratios
    return results


def count_journeys(journeys: int, blocks: int, with_otree: bool) -> int:
    """Of all ways, for a progress bar."""
    return (3 if with_otree else 2) * (min(WARM_UP, journeys) + blocks * journeys)


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
