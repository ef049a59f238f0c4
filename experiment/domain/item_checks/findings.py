"""What a check says of a test case, and where."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Level(StrEnum):
    """An error keeps a draft from review; a warning wants a word of explanation."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of one of the three texts, in characters from 0; `end` is the first character after it."""

    text: Literal["markup", "original", "altered"]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Finding:
    """code: the check's stable name. quote: the words it is about, empty where it is about the whole.

    message: what was found. reason: why it matters, in the writers' criteria. place: None where it is about no stretch.
    """

    code: str
    level: Level
    message: str
    reason: str = ""
    quote: str = ""
    place: Place | None = None

    @property
    def key(self) -> str:
        """The same for the same finding about the same words: an explanation belongs to it.

        >>> Finding("length", Level.WARNING, "12 words").key
        'length'
        """
        if not self.quote:
            return self.code
        return f"{self.code}:{hashlib.sha256(self.quote.encode(errors='surrogatepass')).hexdigest()[:16]}"
