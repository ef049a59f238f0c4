"""Where alternations and unaltered text lie in both versions. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from experiment.domain.item_checks.findings import Finding, Level, Place
from experiment.domain.markup import Abstract, Alternation, Plain


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

    def warning(self, code: str, message: str, reason: str) -> Finding:
        """A warning about the alternation as a whole."""
        message = f"alternation {self.n}: {message}"
        return Finding(code, Level.WARNING, message, reason, self.quote, self.original)


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
