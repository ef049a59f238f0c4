"""A class behind one address, alone and beside strangers who send ten thousand bad requests a minute."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from django.conf import settings

from benchmarks.trust.check import SQLITE_ALONE, Check, Part, Scale
from benchmarks.trust.outcome import Figure, Outcome
from benchmarks.trust.people import Ledger
from benchmarks.trust.site import Site
from benchmarks.trust.world import World

PER_MINUTE = 10_000
FORMS_SHARE = 0.1  # at least: half as many as are sent with a token
# An answer of each every three seconds: many times as fast as people read two versions of an abstract
THINK_S, SPREAD_S = 3.0, 4.0
MOST_TIMES_SLOWER = 2.0
REFUSED = (403, 429)


def classroom(world: World, scale: Scale) -> Outcome:
    n = scale.of(short=8, full=64)
    think_s = THINK_S if scale.is_full else 0.1
    with world.site() as site:
        alone, beside = Ledger(), Ledger()
        with world.people(n, site.port, think_s=think_s, spread_s=SPREAD_S, ledger=alone):
            pass
        with (
            strangers(site) as told,
            world.people(n, site.port, think_s=think_s, spread_s=SPREAD_S, ledger=beside),
        ):
            pass
        p95 = [float(np.percentile(ledger.waited_s, 95)) for ledger in (alone, beside)]
        refused = sum(led.record.statuses[code] for led in (alone, beside) for code in REFUSED)
    slower = Figure(
        "95% of waits beside strangers, to alone",
        p95[1] / p95[0],
        "times",
        MOST_TIMES_SLOWER if scale.is_full else None,
    )
    return world.settle(
        alone.with_all(beside),
        2 * n,
        figures=(
            Figure("bad requests a minute", told.per_minute, ""),
            Figure("forms among them that were looked at, a minute", told.forms_per_minute, ""),
            Figure("95% of waits alone within", 1000 * p95[0], "ms"),
            Figure("95% of waits beside strangers within", 1000 * p95[1], "ms"),
            slower,
        ),
        # In short form, whatever the machine, as many as it can send
        problems=(*wrong(refused), *told.problems(PER_MINUTE if scale.is_full else 0)),
    )


def wrong(refused: int) -> Iterator[str]:
    if refused:
        yield f"{refused} answers to the class were refusals"


@dataclass
class Told:
    """What the strangers say of themselves at their end."""

    per_minute: float = 0.0
    forms_per_minute: float = 0.0  # that were looked at, and not refused at the door
    errors: int = 0

    def problems(self, wanted: float = PER_MINUTE) -> Iterator[str]:
        if self.per_minute < 0.9 * wanted:
            yield f"only {self.per_minute:.0f} bad requests a minute came"
        if self.forms_per_minute < FORMS_SHARE * self.per_minute:
            yield f"only {self.forms_per_minute:.0f} forms a minute among them were looked at"
        if self.errors:
            yield f"{self.errors} bad requests were answered 500"


@contextmanager
def strangers(site: Site) -> Iterator[Told]:
    """In a process of their own, so that they do not slow the class's own clock."""
    module = "benchmarks.trust.load.hostile"
    command = [sys.executable, "-m", module, str(site.port), str(PER_MINUTE / 60)]
    process = subprocess.Popen(command, cwd=settings.BASE_DIR, stdout=subprocess.PIPE, text=True)
    told = Told()
    try:
        yield told
    finally:
        process.terminate()
        said, _ = process.communicate()
    found = json.loads(said)
    told.per_minute, told.errors = found["per_minute"], found["errors"]
    told.forms_per_minute = found["forms_per_minute"]


CHECKS = (
    Check(
        "classroom",
        "64 people behind one address, an answer of each every 3 s, beside 10,000 bad requests a minute",
        Part.LOAD,
        classroom,
        short_on=SQLITE_ALONE,
    ),
)
