"""What is read: good files, one of them broken, and what must hold of what was taken."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Files = dict[str, bytes]


class WrongImportError(Exception):
    """What was taken is not what the files say."""


@dataclass(frozen=True, slots=True)
class Reader:
    """`read` says whether the files were imported; of refused ones it has seen the reason. What else it raises is a mistake of the site."""

    name: str
    share: int  # of 100 cases
    make: Callable[[random.Random], Files]
    read: Callable[[Files, random.Random], bool]
    writes: bool = True


def check(holds: bool, what: str) -> None:
    if not holds:
        raise WrongImportError(what)


def said(reasons: object) -> bool:
    """A refusal has a reason; False, as what is refused is not imported."""
    check(bool(str(reasons).strip(" []")), "refused without a reason")
    return False


def replaced(files: Mapping[str, bytes], name: str, content: bytes) -> Files:
    return {**files, name: content}
