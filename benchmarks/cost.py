"""CPU time, wall time and memory of this process."""

import gc
import resource
import time
from dataclasses import dataclass
from pathlib import Path

STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Seconds:
    """The time of a piece of work, of the processor and by the clock."""

    cpu_s: float
    wall_s: float


class Stopwatch:
    """Runs from its making; each lap from the one before."""

    def __init__(self) -> None:
        gc.collect()
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def lap(self) -> Seconds:
        cpu, wall = time.process_time(), time.perf_counter()
        seconds = Seconds(cpu - self._cpu, wall - self._wall)
        self._cpu, self._wall = cpu, wall
        return seconds


def forget_highest() -> None:
    """Let `highest_mb` begin with what the process holds now, where the system can."""
    gc.collect()
    if (reset := STATUS.with_name("clear_refs")).exists():
        reset.write_text("5")


def highest_mb() -> float:
    """Most memory that the process has held so far, in MiB."""
    if STATUS.exists():
        # Linux's ru_maxrss begins with what the starting process held
        lines = STATUS.read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
