"""What a participant sees of an abstract: passages by side, never by which version is the original. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from experiment.domain.assignment import Side
from experiment.domain.markup import Plain, Segment


@dataclass(frozen=True, slots=True)
class ShownSegment:
    """Plain text, or the two passages of an alternation by side."""

    text: str = ""
    side_a: str = ""
    side_b: str = ""

    @property
    def is_alternation(self) -> bool:
        return bool(self.side_a)


def by_side(segments: Iterable[Segment], original_side: Side) -> list[ShownSegment]:
    """Put the original passages on `original_side` and the altered ones on the other.

    >>> from experiment.domain.markup import parse
    >>> [s.side_a or s.text for s in by_side(parse("It [[rose, fell]].").segments, "B")]
    ['It ', 'fell', '.']
    """
    shown = []
    for segment in segments:
        if isinstance(segment, Plain):
            shown.append(ShownSegment(text=segment.text))
        elif original_side == "A":
            shown.append(ShownSegment(side_a=segment.original, side_b=segment.altered))
        else:
            shown.append(ShownSegment(side_a=segment.altered, side_b=segment.original))
    return shown
