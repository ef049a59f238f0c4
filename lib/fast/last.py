"""Work that a transaction does last, right before it is committed, because others wait from then until it ends.

Django does things once a transaction is committed. It knows which of them to leave out, since what asked for them was rolled back:
what is to be done before waits among those.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Last:
    """Something to be done by `do`, with all else that the transaction has for it, in order."""

    do: Callable[[list[Any]], None]
    what: Any

    def __call__(self) -> None:
        raise AssertionError("it was to be done before the transaction was committed")


class DoesLast:
    """A database's connection."""

    run_on_commit: list[Any]  # of tuples: points of return, what is asked for, and more
    in_atomic_block: bool

    def commit(self) -> None:
        self.in_atomic_block = True  # until what is left of it is done
        try:
            self.do_last()
        except BaseException:
            self.in_atomic_block = False
            self.rollback()  # type: ignore[attr-defined]
            raise
        self.in_atomic_block = False
        super().commit()  # type: ignore[misc]

    def do_last(self) -> None:
        found = dict[Callable[[list[Any]], None], list[Any]]()
        for _, asked, _ in self.run_on_commit:
            if isinstance(asked, Last):
                found.setdefault(asked.do, []).append(asked.what)
        if found:
            self.run_on_commit = [e for e in self.run_on_commit if not isinstance(e[1], Last)]
        for do, what in found.items():
            do(what)
