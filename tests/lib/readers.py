"""Readers that misbehave, for test_confined.py: they run in the other process."""

import atexit
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from lib.confined import MB


class OddError(Exception):
    def __init__(self, number: int, what: str) -> None:
        self.number, self.what = number, what
        super().__init__(number, what)


@dataclass(frozen=True, slots=True)
class Read:
    text: str
    names: frozenset[str]
    day: date
    inner: "Sequence[Read]"


def read(data: bytes, names: Mapping[str, str], day: date) -> Read:
    print("What is printed is no answer.")
    here = Read(data.decode(errors="replace"), frozenset(names), day, [])
    return Read(here.text, here.names, day, [here])


def half(_: bytes) -> Read:
    return Read("\ud800", frozenset({"a"}), date(2026, 3, 1), [])


def refuse(_: bytes) -> None:
    raise OddError(3, "line")


def fail(data: bytes) -> None:
    raise KeyError(data.decode())


def take_memory(_: bytes) -> int:
    return len([bytearray(MB) for _ in range(600)])


def answer_without_end(_: bytes) -> list[str]:
    return ["x" * MB] * 80


def compute_without_end(_: bytes) -> None:
    while True:
        pass


def sleep_without_end(_: bytes) -> None:
    time.sleep(600)


def leave_a_library_that_aborts(data: bytes) -> str:
    """Once the interpreter ends."""
    atexit.register(os.abort)
    return data.decode()


def die(_: bytes) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def be_ended_by_the_system(_: bytes) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def about(_: bytes) -> tuple[Mapping[str, str], list[str], list[str]]:
    """Its environment, open files, and modules."""
    files = [os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.exists()]
    return dict(os.environ), files, sorted(sys.modules)


def wait_for(_: bytes, path: Path) -> None:
    """Until somebody makes this file; another says that it began."""
    path.with_suffix(".begun").touch()
    while not path.exists():
        time.sleep(0.01)


def write(_: bytes, path: Path) -> None:
    with path.open("wb") as file:
        file.seek(1100 * MB)
        file.write(b"x")
