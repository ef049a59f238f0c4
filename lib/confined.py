"""Files that somebody sends are read in a process of their own, which may take so much memory and time: a small file may unpack to gigabytes.

`confined` starts that process anew for each file, so that it inherits neither connections nor secrets nor memory; one at a time,
in the order of asking, and few pages wait, of each account one. What it takes grows with the file, so that large files of administrators are read likewise. What is read comes back as JSON, of
the type that the reader names. Knows neither Django nor what is read.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeVar, get_type_hints

import pydantic_core
from pydantic import TypeAdapter

from lib.turns import Turns

T = TypeVar("T")
Reader = Callable[..., T]

ROOT = Path(__file__).resolve().parents[1]
START = "import sys; sys.path.insert(0, sys.argv[1]); from lib.confined import main; main()"
# Of the process, with nothing of this one's. Threads of libraries would take memory each, and their pools more than they use
ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MALLOC_ARENA_MAX"), "1"),
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
MB = 2**20
MEMORY, MEMORY_PER_BYTE = 400 * MB, 20
CPU_S, CPU_S_PER_MB = 20, 0.5
WALL = 5  # times the processor's time, where others use it too
CODE = 2048 * MB  # addresses of libraries, beside the memory that is used
MOST_ANSWER, ANSWER_PER_BYTE = 64 * MB, 4
MOST_FILE = 1024 * MB  # of what a reader itself writes
POLITENESS = 5  # pages go first
MOST_WAITING = 3
WAIT_S = 60  # longer than any page's file takes by itself
BUSY = "The site is reading other files. Try again in a minute."
NO_MEMORY = "The machine has too little memory at the moment. Try again in a minute."
OWN_FILE = "The site is still reading another file of yours. Try again when that is done."


class ConfinedError(Exception):
    """The file was not read; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the process that reads a file; `memory` and `answer` in bytes."""

    memory: int
    cpu_s: int
    answer: int

    @classmethod
    def of(cls, n_bytes: int) -> "Limits":
        """For a file of this size.

        >>> Limits.of(30 * MB).memory // MB, Limits.of(0).memory // MB, Limits.of(0).cpu_s
        (1000, 400, 20)
        """
        return cls(
            MEMORY + MEMORY_PER_BYTE * n_bytes,
            CPU_S + int(CPU_S_PER_MB * n_bytes / MB),
            MOST_ANSWER + ANSWER_PER_BYTE * n_bytes,
        )

    @property
    def too_much_memory(self) -> str:
        return f"Reading the file needs more than {self.memory // MB} MB of memory, which no file of its size may take. Split the file, or write it again with less in it."

    @property
    def too_long(self) -> str:
        return f"Reading the file takes more than {self.cpu_s} seconds. Split the file, or write it again with less in it."


# Of the page that is being answered; commands and workers hold up nobody, and wait as long as it takes
_account: ContextVar[Callable[[], str] | None] = ContextVar("account", default=None)


@contextmanager
def for_account(account: Callable[[], str]) -> Iterator[None]:
    """Within it, files are read for this account, which is asked for only when one is to be read."""
    before = _account.set(account)
    try:
        yield
    finally:
        _account.reset(before)


class _Queue:
    """One after the other; few pages wait, so that others keep threads to be served by, and of each account only one."""

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._guard = threading.Lock()
        self.accounts: set[str] = set()  # each has a place
        self._turns = Turns()

    @contextmanager
    def one(self) -> Iterator[None]:
        account = _account.get()
        if account is None:
            with self._turn(None):
                yield
        else:
            with self._place(account()), self._turn(WAIT_S):
                yield

    @contextmanager
    def _place(self, account: str) -> Iterator[None]:
        with self._guard:
            if account in self.accounts:
                raise ConfinedError(OWN_FILE)
            if len(self.accounts) > MOST_WAITING:
                raise ConfinedError(BUSY)
            self.accounts.add(account)
        try:
            yield
        finally:
            with self._guard:
                self.accounts.remove(account)

    @contextmanager
    def _turn(self, wait_s: float | None) -> Iterator[None]:
        if not self._turns.acquire(wait_s):
            raise ConfinedError(BUSY)
        try:
            yield
        finally:
            self._turns.release()


_queue = _Queue()


def confined(
    reader: Reader[T],
    data: bytes,
    *args: Any,
    refusals: Sequence[type[Exception]] = (),
    size: int | None = None,
) -> T:
    """The result of a module's function for a file's bytes and other arguments.

    Args:
        reader: with types, which pydantic knows, of its arguments and what it returns.
        refusals: errors of the reader that are raised here too, with the same arguments.
        size: bytes that are read, where these are in other files.
    Raises:
        ConfinedError: it took too much memory or time, returned too much, or, on a page, too many files wait to be read.
    """
    limits = Limits.of(len(data) if size is None else size)
    question = {
        "reader": _name(reader),
        "args": [dict(arg) if isinstance(arg, Mapping) else arg for arg in args],
        "refusals": [_name(kind) for kind in refusals],
        "limits": limits,
    }
    with _queue.one(), tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as answer:
        asked.writelines((pydantic_core.to_json(question), b"\n", data))
        asked.seek(0)
        _run(asked, answer, limits)
        answer.seek(0)
        kind, said = answer.readline().decode().strip(), answer.read()
    if kind == "memory":
        raise ConfinedError(limits.too_much_memory)
    if kind == "refused":
        number, words = json.loads(said)
        raise refusals[number](*words)
    if kind not in ("value", "halves"):
        raise RuntimeError(f"{_name(reader)} failed: {said.decode()}")
    returned = _types(reader)[1]
    value: T = (
        returned.validate_json(said)
        if kind == "value"
        else returned.validate_python(json.loads(said))
    )
    return value


def _run(asked: IO[bytes], answer: IO[bytes], limits: Limits) -> None:
    """Until it is over."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-X", "utf8", "-c", START, str(ROOT)],
        stdin=asked,
        stdout=answer,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
        start_new_session=True,
    )
    try:
        ended = process.wait(WALL * limits.cpu_s)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise ConfinedError(limits.too_long) from error
        raise
    if ended == -signal.SIGXCPU:
        raise ConfinedError(limits.too_long)
    if (
        ended == -signal.SIGKILL
    ):  # no limit of ours ends it so: the system does, where others have taken the memory
        raise ConfinedError(NO_MEMORY)
    if ended < 0:  # by a library that cannot do without
        raise ConfinedError(limits.too_much_memory)


def _name(what: Any) -> str:
    return f"{what.__module__}:{what.__qualname__}"


def _named(name: str) -> Any:
    module, _, what = name.partition(":")
    return getattr(import_module(module), what)


@cache
def _types(reader: Reader[Any]) -> tuple[Sequence[TypeAdapter[Any]], TypeAdapter[Any]]:
    """Adapters for the arguments after the bytes, and for the returned value."""
    *args, returned = map(TypeAdapter, list(get_type_hints(reader, include_extras=True).values()))
    return args[1:], returned


def main() -> None:
    """The other process: reads what `confined` asks of it, within the limits."""
    # What libraries print is no answer
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    question = json.loads(sys.stdin.buffer.readline())
    limits = Limits(**question["limits"])
    os.nice(POLITENESS)
    for what, most in (
        (resource.RLIMIT_DATA, limits.memory),
        (resource.RLIMIT_AS, limits.memory + CODE),
        (resource.RLIMIT_FSIZE, max(MOST_FILE, limits.answer)),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):  # not every system has each
            resource.setrlimit(what, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_s, limits.cpu_s + 2))
    try:
        said = _answer(question)
        is_much = len(said) > limits.answer
    except MemoryError:
        is_much = True
    with answer:
        answer.write(b"memory\n" if is_much else said)
    # Threads that a library leaves behind may abort an interpreter that ends in order, after all was said
    os._exit(0)


def _answer(question: Mapping[str, Any]) -> bytes:
    refusals = [_named(name) for name in question["refusals"]]
    try:
        reader = _named(question["reader"])
        kinds, _ = _types(reader)
        args = [
            kind.validate_python(arg) for kind, arg in zip(kinds, question["args"], strict=False)
        ]
        value = reader(sys.stdin.buffer.read(), *args)
        # With its kind before it: pydantic writes and reads no halves of characters, which JSON may hold
        try:
            return b"value\n" + pydantic_core.to_json(value, fallback=_plain)
        except pydantic_core.PydanticSerializationError:
            plain = pydantic_core.to_jsonable_python(value, fallback=_plain)
            return b"halves\n" + json.dumps(plain).encode()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 (the other process raises it)
        for number, kind in enumerate(refusals):
            if isinstance(error, kind):
                return b"refused\n" + json.dumps([number, _words(error)]).encode()
        # Without its message, which may hold what was sent
        *_, last = traceback.extract_tb(error.__traceback__)
        return f"fault\n{type(error).__name__} in {last.filename}, line {last.lineno}".encode()


def _words(error: Exception) -> list[Any]:
    """The parts from which it can be made again."""
    if isinstance(error, OSError):
        return [error.errno, error.strerror, error.filename and os.fsdecode(error.filename)]
    simple = all(isinstance(word, str | int | tuple | None) for word in error.args)
    return list(error.args) if simple else [str(error)]


def _plain(value: Any) -> Any:
    """A value that pydantic does not know, in types that it knows."""
    if hasattr(value, "tolist"):  # an array of numbers
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
