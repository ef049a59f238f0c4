"""Input that no page sends and no program writes, each kind in a process of its own."""

import json
import subprocess
import sys
from dataclasses import replace

from django.conf import settings

from benchmarks.trust.audit import failures
from benchmarks.trust.fuzz.__main__ import QUICKLY
from benchmarks.trust.outcome import Figure, Outcome, Scale
from benchmarks.trust.world import World
from benchmarks.web.site import environment_of, free_port

NAMES = {"journey": ("answers that were told to be stored", "requests that a fault ended")}
MANY = 80  # cases, of which some are taken and some refused whatever the seed: else what is fuzzed was not reached


def in_process(what: str, short: int, full: int, world: World, scale: Scale) -> Outcome:
    """So many cases of the world's seed, in its database."""
    return _run(world, what, world.seed, scale.of(short, full))


def wire(world: World, scale: Scale) -> Outcome:
    with world.site() as site:
        found = _run(world, "wire", world.seed, scale.of(60, 1_000), "--port", str(site.port))
    return replace(found, problems=(*found.problems, *failures(site.log)))


def _run(world: World, what: str, seed: int, cases: int, *more: str) -> Outcome:
    asked = [what, "--seed", str(seed), "--cases", str(cases), *more]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.trust.fuzz", *asked],
        cwd=settings.BASE_DIR,
        env=environment_of(world.url, world.folder, free_port()) | QUICKLY,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        end = done.stderr.strip()[-500:]
        return Outcome(0, problems=(f"{what} --seed {seed} ended with {done.returncode}: {end}",))
    found = json.loads(done.stdout)
    taken, refused = NAMES.get(what, ("taken", "refused"))
    figures = Figure(taken, found["taken"], ""), Figure(refused, found["refused"], "")
    unreached = [f"{f.name}: 0 of {cases} cases" for f in figures if cases >= MANY and not f.value]
    problems = [f"--seed {seed}: {problem}" for problem in (*found["problems"], *unreached)]
    return Outcome(
        cases=found["cases"],
        errors=found["errors"],
        unavailable=found["unavailable"],
        figures=figures,
        problems=tuple(problems),
    )
