"""Waits for what other processes do."""

import time
from collections.abc import Callable

WITHIN_S = 60.0
LOOKS_S = 0.05


def wait_until(holds: Callable[[], object], within_s: float = WITHIN_S) -> float:
    """Wait until it holds; the seconds that it took.

    Raises:
        TimeoutError: it never did.
    """
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > within_s:
            raise TimeoutError(f"waited {within_s:.0f} s in vain")
        time.sleep(LOOKS_S)
    return time.monotonic() - began
