"""Ctrl-C and the end of a process wait while something is stored that was paid for."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def held_back() -> Iterator[None]:
    """Holds back signals that end this process until the block is done; in a thread beside the main one, they never come."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {
        number: signal.signal(number, lambda sent, frame: came.append(sent)) for number in ENDING
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for one in came[:1]:
            signal.raise_signal(one)
