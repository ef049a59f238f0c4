"""CPU time, wall time and memory of this process."""

import gc
import resource
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Seconds:
    """What a piece of work took, of the processor and by the clock."""

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


def highest_mb() -> float:
    """Most memory that the process has held so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
