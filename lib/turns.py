"""A lock whose waiting threads stand in a queue: Python's own lets a newcomer overtake them."""

import threading
from collections import deque


class Turns:
    """A lock that is given to who has waited longest."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._is_taken = False
        self.waiting: deque[threading.Semaphore] = deque()

    def acquire(self, timeout_s: float | None) -> bool:
        """True if the lock is the caller's, False where it did not come within so long. None waits until it comes."""
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return True
            mine = threading.Semaphore(0)
            self.waiting.append(mine)
        if mine.acquire(timeout=timeout_s):
            return True
        with self._guard:
            if mine in self.waiting:
                self.waiting.remove(mine)
                return False
        return True  # given just now

    def release(self) -> None:
        with self._guard:
            if self.waiting:
                self.waiting.popleft().release()
            else:
                self._is_taken = False
