"""What memory a process has for itself, as Linux shares it out."""

import math
from collections.abc import Iterable, Mapping

from benchmarks.web.processes import PROC


def held_mib(pids: Iterable[int]) -> dict[int, float]:
    """Proportional set size of each process that lives, in MiB: a page that n processes share counts 1/n."""
    found = {}
    for pid in pids:
        try:
            lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
        except OSError:  # it ended meanwhile
            continue
        kib = next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        found[pid] = kib / 1024
    return found


def growth(before: Mapping[int, float], after: Mapping[int, float]) -> float:
    """Of the processes that lived all along: how much more the most grown one holds, as a share.

    >>> growth({1: 100.0, 2: 80.0}, {2: 84.0, 3: 500.0})
    0.05

    Infinite where none did: then nothing was shown.
    """
    lived = before.keys() & after.keys()
    return max((round(after[pid] / before[pid] - 1, 4) for pid in lived), default=math.inf)
