"""A check's view of a test case, its findings, and their places in the text. Pure."""

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Literal

from experiment.domain.item_checks.words import content_words
from experiment.domain.markup import Abstract, Alternation, Plain
from lib.sentences import sentence_spans


@dataclass(frozen=True, slots=True)
class Facts:
    """As an item has it; `key` is empty where it has none yet. Its other versions have the same."""

    field: str
    key: str = ""
    kind: str = "test"
    source: str = "human"
    doi: str = ""
    publication_date: date | None = None


@dataclass(frozen=True, slots=True)
class Other:
    """Another item of the field, to compare with."""

    key: str
    source: str
    doi: str
    original: str


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
    remedy: markup that may take the place of what is written there, empty where only a person knows.
    """

    code: str
    level: Level
    message: str
    reason: str = ""
    quote: str = ""
    place: Place | None = None
    remedy: str = ""

    @property
    def is_error(self) -> bool:
        return self.level == Level.ERROR

    @property
    def in_markup(self) -> Place | None:
        """Its place, where that is one of the markup."""
        return self.place if self.place is not None and self.place.text == "markup" else None

    @property
    def key(self) -> str:
        """The same for the same finding about the same words: an explanation belongs to it.

        >>> Finding("length", Level.WARNING, "12 words").key
        'length'
        """
        if not self.quote:
            return self.code
        return f"{self.code}:{hashlib.sha256(self.quote.encode(errors='surrogatepass')).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class Placed:
    """An alternation, the n-th from 1, and where its passages stand."""

    n: int
    alternation: Alternation
    original: Place
    altered: Place

    @property
    def sides(self) -> tuple[tuple[Place, str], tuple[Place, str]]:
        return (
            (self.original, self.alternation.original),
            (self.altered, self.alternation.altered),
        )

    @property
    def quote(self) -> str:
        return f"{self.alternation.original} | {self.alternation.altered}"

    def warning(self, code: str, message: str, reason: str, remedy: str = "") -> Finding:
        """A warning about the alternation as a whole."""
        message = f"alternation {self.n}: {message}"
        return Finding(code, Level.WARNING, message, reason, self.quote, self.original, remedy)


def placed(abstract: Abstract) -> list[Placed]:
    """The alternations in order.

    >>> from experiment.domain.markup import parse
    >>> found = placed(parse("Rats [[slept, did]] [[well, so]]."))[1]
    >>> (found.original.start, found.altered.start)
    (11, 9)
    """
    found: list[Placed] = []
    at_original = at_altered = 0
    for segment in abstract.segments:
        if isinstance(segment, Plain):
            at_original += len(segment.text)
            at_altered += len(segment.text)
            continue
        ends = at_original + len(segment.original), at_altered + len(segment.altered)
        found.append(
            Placed(
                len(found) + 1,
                segment,
                Place("original", at_original, ends[0]),
                Place("altered", at_altered, ends[1]),
            )
        )
        at_original, at_altered = ends
    return found


def unaltered(abstract: Abstract) -> Iterator[tuple[int, str]]:
    """The stretches common to both versions, each with its offset in the original.

    >>> from experiment.domain.markup import parse
    >>> list(unaltered(parse("Rats [[slept, ran]].")))
    [(0, 'Rats '), (10, '.')]
    """
    at = 0
    for segment in abstract.segments:
        if isinstance(segment, Plain):
            yield at, segment.text
            at += len(segment.text)
        else:
            at += len(segment.original)


def versions(abstract: Abstract) -> tuple[tuple[str, str], tuple[str, str]]:
    """The two texts with their names."""
    return ("original", abstract.original), ("altered", abstract.altered)


# Content words before a place, and as many after it
WIDTH = 4


class Context:
    """
    >>> sorted(Context("We slept. Old rats slept well. Mice ran.").around(19, 24))
    ['old', 'rats']
    """

    def __init__(self, text: str) -> None:
        self._words = list(content_words(text))
        self._sentences = sentence_spans(text)

    def around(self, start: int, end: int) -> set[str]:
        """Stems of the content words on both sides of a stretch, as far as its sentence goes."""
        first = max((low for low, _ in self._sentences if low <= start), default=0)
        last = min((high for _, high in self._sentences if high >= end), default=end)
        before = bisect_right(self._words, start, key=lambda word: word.end)
        after = bisect_left(self._words, end, key=lambda word: word.start)
        near = self._words[max(0, before - WIDTH) : before] + self._words[after : after + WIDTH]
        return {word.stem for word in near if first <= word.start < last}
