"""CPU time of a server's processes, as Linux counts it."""

import os
from collections.abc import Collection
from pathlib import Path

PROC = Path("/proc")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def tree_cpu_s(roots: Collection[int]) -> float:
    """CPU seconds of these processes and all below them, those that have ended included.

    What ended is in its parent's account once the parent has asked for it, as gunicorn, PostgreSQL and oTree do.
    """
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in PROC.iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            text = (entry / "stat").read_text()
        except OSError:  # it ended meanwhile
            continue
        # The name of the program, in brackets, may hold spaces
        fields = text.rpartition(")")[2].split()
        parents[int(entry.name)] = int(fields[1])
        ticks[int(entry.name)] = sum(int(value) for value in fields[11:15])
    return sum(n for pid, n in ticks.items() if _is_below(pid, roots, parents)) / TICKS_PER_S


def _is_below(pid: int, roots: Collection[int], parents: dict[int, int]) -> bool:
    while pid not in roots:
        if pid not in parents:
            return False
        pid = parents[pid]
    return True
