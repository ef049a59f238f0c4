"""How many transactions a web process has open at once: fewer than it has threads, so that pages that need none are answered.

While somebody else holds a lock, every transaction waits for it until its time is over. Were there as many of them as threads, pages
that read alone, and /healthz, would wait behind them; and behind those who come meanwhile.
"""

import os
import threading
import time
from typing import Any

from django.db.utils import OperationalError

BRIEFLY_S = 1.0


class Places:
    """`n` places, each for a transaction from its beginning to its end.

    Who finds none waits for one, as in a rush, in which they come free every few milliseconds; but no longer than BRIEFLY_S,
    and not at all once none has come free for so long: then all of them wait for something that does not come.
    """

    def __init__(self, n: int) -> None:
        self.free = n
        self._changed = threading.Condition()
        self._changed_at = 0.0  # when the last one was taken, or one came free

    def take(self) -> None:
        """Take a place, which the caller gives back by `leave`.

        Raises:
            OperationalError: there is none.
        """
        with self._changed:
            is_stuck = not self.free and time.monotonic() - self._changed_at > BRIEFLY_S
            if is_stuck or not self._changed.wait_for(lambda: self.free, BRIEFLY_S):
                raise OperationalError(
                    "all transactions that this process may have open are in use"
                )
            self.free -= 1
            self._changed_at = time.monotonic()

    def leave(self) -> None:
        with self._changed:
            self.free += 1
            self._changed_at = time.monotonic()
            self._changed.notify()


# Of each database
_places: dict[str, Places] = {}
_guard = threading.Lock()
# Of its parent's threads no child has any
os.register_at_fork(after_in_child=_places.clear)


def _of(values: dict[str, Any]) -> Places | None:
    most: int = values.get("MOST_TRANSACTIONS", 0)
    if not most:
        return None
    with _guard:
        return _places.setdefault(str(values["NAME"]), Places(most))


class TakesPlaces:
    """A database's connection whose transactions each take a place, where the settings say how many there are."""

    settings_dict: dict[str, Any]
    _taken: Places | None = None

    def take_place(self) -> None:
        places = _of(self.settings_dict)
        if places is not None and self._taken is None:
            places.take()
            self._taken = places

    def leave_place(self) -> None:
        taken, self._taken = self._taken, None
        if taken is not None:
            taken.leave()
