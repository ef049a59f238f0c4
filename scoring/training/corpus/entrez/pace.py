"""How often a server may be asked."""

import time
from collections.abc import Callable


class Pace:
    """Lets requests begin at least 1 / `per_second` apart: in no second are there more."""

    def __init__(
        self,
        per_second: float,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._apart_s, self._sleep, self._clock = 1 / per_second, sleep, clock
        self._next_s = clock()

    def wait(self) -> None:
        """Until the next request may begin."""
        now_s = self._clock()
        if now_s < self._next_s:
            self._sleep(self._next_s - now_s)
        self._next_s = max(now_s, self._next_s) + self._apart_s
