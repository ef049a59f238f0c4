"""CPU time, wall time, peak memory and the machine's own speed at matrix products."""

import ctypes
import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch

MIB = 2**20
STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


@dataclass
class Clock:
    """Seconds spent within `running()`, summed over calls."""

    device: torch.device
    cpu_s: float = 0.0
    wall_s: float = 0.0
    rounds: list[float] = field(default_factory=list)  # CPU seconds of each

    @contextmanager
    def running(self) -> Iterator[None]:
        _wait(self.device)
        cpu, wall = time.process_time(), time.perf_counter()
        yield
        _wait(self.device)
        self.rounds.append(time.process_time() - cpu)
        self.cpu_s += self.rounds[-1]
        self.wall_s += time.perf_counter() - wall


def peak_mb(device: torch.device, work: Callable[[], object]) -> float | None:
    """MiB above what was held before, at the highest moment of `work`; None where the system does not say."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        work()
        return float(torch.cuda.max_memory_allocated(device) - before) / MIB
    if not CLEAR.exists():
        return None
    ctypes.CDLL(None).malloc_trim(0)
    CLEAR.write_text("5")  # forget the peak so far
    before_kib = _status_kib("VmRSS")
    work()
    return (_status_kib("VmHWM") - before_kib) / 1024


def matrix_product_flops(
    device: torch.device, dtype: torch.dtype, n: int = 0
) -> tuple[float, float]:
    """(FLOP per second of wall time, FLOP per second of CPU time) of a large matrix product."""
    n = n or (8192 if device.type == "cuda" else 2048)
    a, b = (torch.randn(n, n, device=device).to(dtype) for _ in "ab")
    clock = Clock(device)
    torch.mm(a, b)
    for _ in range(6):
        with clock.running():
            torch.mm(a, b)
    flop = 6 * 2 * float(n) ** 3
    return flop / clock.wall_s, flop / max(clock.cpu_s, 1e-9)


def _status_kib(name: str) -> float:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(name + ":"))
    return float(line.split()[1])


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
