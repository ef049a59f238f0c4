"""Limits that a server names in the headers of its answers: all requests to it pause, and none fails. Opens no connection."""

import asyncio
import random
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime

# Answered requests may still tell of a limit that is reached. Longer than this it need not be believed: the next answer tells again
MOST_BELIEVED_S = 60.0
# Requests that have waited for the same moment are spread over the seconds after it
MOST_SPREAD_S = 5.0
_PARTS = re.compile(r"(?<!\d)(?P<n>\d{1,12}(?:\.\d{1,12})?)(?P<unit>ms|[smhd])")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_EPOCH = 10**9  # larger numbers are moments
_EPOCH_MS = 10**12


class Limits:
    """The pauses that one server asks for, which hold for all requests to it. Lives in one event loop.

    answered_at: when it last answered, by the clock of `time.monotonic`.
    """

    def __init__(self) -> None:
        self.answered_at = 0.0
        self._until = 0.0

    @property
    def left_s(self) -> float:
        """Seconds until the server may be asked again."""
        return max(0.0, self._until - time.monotonic())

    def pause(self, seconds: float) -> None:
        """Let no request begin so soon."""
        self._until = max(self._until, time.monotonic() + seconds)

    def read(self, headers: Mapping[str, str]) -> None:
        """Pause where an answer's headers say that nothing is left of a limit."""
        pause_s = named_pause_s(headers)
        if pause_s:
            self.pause(min(pause_s, MOST_BELIEVED_S))

    async def passed(self) -> float:
        """Wait until the server may be asked; the seconds that this took."""
        began = time.monotonic()
        while left_s := self.left_s:
            spread_s = random.random() * min(left_s / 4, MOST_SPREAD_S)
            await asyncio.sleep(left_s + spread_s)
        return time.monotonic() - began


def named_pause_s(headers: Mapping[str, str]) -> float:
    """Seconds until the last of the limits begins anew of which nothing is left; 0 where there is none.

    >>> named_pause_s({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m2.5s"})
    62.5
    >>> named_pause_s({"x-ratelimit-remaining": "3", "x-ratelimit-reset": "20"})
    0.0
    """
    found = [0.0]
    for name, left in headers.items():
        name = name.lower()
        if "ratelimit" in name and "remaining" in name and left.strip() in ("0", "0.0"):
            found.append(_seconds(headers.get(name.replace("remaining", "reset"), "")))
    return max(found)


def _seconds(reset: str) -> float:
    """Seconds until a limit begins anew: a number of them, a time such as 6m0s, or a moment; 0 where it is none of these.

    >>> _seconds("250ms"), _seconds("7"), _seconds("soon"), _seconds("2001-01-01T00:00:00Z"), _seconds("1000000001")
    (0.25, 7.0, 0.0, 0.0, 0.0)
    """
    reset = reset.strip()
    parts = list(_PARTS.finditer(reset))
    if parts and "".join(part[0] for part in parts) == reset:
        return sum(float(part["n"]) * _UNITS[part["unit"]] for part in parts)
    try:
        number = float(reset)
    except ValueError:
        try:
            moment = datetime.fromisoformat(reset)
        except ValueError:
            return 0.0
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        number = moment.timestamp() - time.time()
    if number > _EPOCH_MS:
        number /= 1000
    if number > _EPOCH:
        number -= time.time()
    return number if 0 < number < _EPOCH else 0.0
