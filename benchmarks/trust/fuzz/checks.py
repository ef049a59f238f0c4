"""The checks of docs/trust.md that fuzz: each in a process of its own, so that what kills a process is found too."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from django.conf import settings

from benchmarks.trust.check import POSTGRESQL_ALONE, SQLITE_ALONE, Check, Part, Scale
from benchmarks.trust.failures import failures
from benchmarks.trust.fuzz.__main__ import QUICKLY
from benchmarks.trust.outcome import Figure, Outcome
from benchmarks.trust.world import World
from benchmarks.web.site import environment_of, free_port

TAKEN, REFUSED = "taken", "refused"
STORED, ENDED = "answers that were told to be stored", "requests that a fault ended"
MANY = 80  # cases, of which some are taken whatever the seed


def _checked(what: str, short: int, full: int) -> Callable[[World, Scale], Outcome]:
    """So many cases of the world's seed, in its database."""

    def run(world: World, scale: Scale) -> Outcome:
        return _in_process(world, what, scale.of(short, full))

    return run


def submits(world: World, scale: Scale) -> Outcome:
    """In two processes side by side, each with studies of its own."""
    half = scale.of(80, 5_000)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(
            lambda first: _in_process(world, "submits", half, "--first", str(first)), (0, half)
        )
    return Outcome(
        cases=one.cases + other.cases,
        errors=one.errors + other.errors,
        unavailable=one.unavailable + other.unavailable,
        problems=one.problems + other.problems,
        figures=tuple(
            replace(figure, value=figure.value + more.value)
            for figure, more in zip(
                one.figures, other.figures, strict=False
            )  # who broke off has none
        ),
    )


def wire(world: World, scale: Scale) -> Outcome:
    with world.site() as site:
        found = _in_process(world, "wire", scale.of(60, 1_000), "--port", str(site.port))
    return replace(found, problems=(*found.problems, *failures(site.log)))


def _in_process(world: World, what: str, cases: int, *more: str) -> Outcome:
    environment = environment_of(world.url, world.folder, free_port()) | QUICKLY
    asked = [what, "--here", "--seed", str(world.seed), "--cases", str(cases), *more]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.trust.fuzz", *asked],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        end = done.stderr.strip()[-500:]
        problem = f"{what} --seed {world.seed} ended with {done.returncode}: {end}"
        return Outcome(cases=0, problems=(problem,))
    found = json.loads(done.stdout)
    counted = (Figure(STORED if what == "journey" else TAKEN, found["taken"], ""),
               Figure(ENDED if what == "journey" else REFUSED, found["refused"], ""))  # fmt: skip
    return Outcome(
        cases=found["cases"],
        errors=found["errors"],
        unavailable=found["unavailable"],
        figures=counted,
        problems=(*found["problems"], *unreached(found["cases"], counted)),
    )


def unreached(cases: int, counted: Sequence[Figure]) -> Iterator[str]:
    """Where of many cases all are refused, or none is, what is fuzzed was not reached."""
    if cases >= MANY:
        yield from (f"{figure.name}: 0 of {cases} cases" for figure in counted if not figure.value)


CHECKS: tuple[Check[World], ...] = (
    Check("fuzz-submits", "Malformed forms", Part.FUZZ, submits, short_on=SQLITE_ALONE),
    Check("fuzz-wire", "Malformed bytes over HTTP", Part.FUZZ, wire, short_on=SQLITE_ALONE),
    Check(
        "fuzz-imports",
        "Damaged files",
        Part.FUZZ,
        _checked("imports", 200, 10_000),
        short_on=SQLITE_ALONE,
    ),
    Check(
        "fuzz-api",
        "API requests, in range and out of it",
        Part.FUZZ,
        _checked("api", 100, 3_000),
        short_on=POSTGRESQL_ALONE,
    ),
    Check(
        "fuzz-journey",
        "Journeys in any order, with faults",
        Part.FUZZ,
        _checked("journey", 6, 150),
        short_on=POSTGRESQL_ALONE,
    ),
)
