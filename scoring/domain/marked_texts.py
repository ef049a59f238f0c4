"""Texts with their alternations marked, and an abstract cut into sentences that are the same units in both versions.

A place is a boundary when a sentence begins there in the original *and* in the altered text, and it does not lie inside
an alternation. So a passage that holds a full stop, or stretches over one, joins the sentences that it touches.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

from experiment.domain.markup import WHITESPACE, Abstract, Alternation, Plain, parse
from lib.sentences import sentence_spans

KEPT = 4096  # abstracts: conditions, prompts and models of one command read the same ones
Span = tuple[int, int]
# A place that both versions have: the number of a segment, and characters into it.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text, and where its alternations' passages stand in it, in characters: (start, end) each, in order."""

    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A unit of an abstract in both versions, and the whitespace that parts it from the next one."""

    original: MarkedText
    altered: MarkedText
    after: str

    @property
    def is_result(self) -> bool:
        """Whether it holds an alternation: what the paper calls a result."""
        return bool(self.original.spans)


@lru_cache(maxsize=KEPT)
def parsed(markup: str) -> Abstract:
    """An abstract with its alternations; the same text is parsed once.

    Raises:
        MarkupError: as `experiment.domain.markup.parse` raises it.
    """
    return parse(markup)


def whole(abstract: Abstract) -> tuple[MarkedText, MarkedText]:
    """The original and the altered version in full.

    >>> from experiment.domain.markup import parse
    >>> whole(parse("Rats [[ran, swam]]."))[1]
    MarkedText(text='Rats swam.', spans=((5, 9),))
    """
    original, altered = _versions(abstract)
    return original.marked(), altered.marked()


@lru_cache(maxsize=KEPT)
def sentences(abstract: Abstract) -> tuple[Sentence, ...]:
    """An abstract's sentences, in order; the same abstract is cut once.

    >>> from experiment.domain.markup import parse
    >>> [s.altered.text for s in sentences(parse("It [[rose. Then it fell, fell]]. It was late."))]
    ['It fell.', 'It was late.']
    """
    original, altered = _versions(abstract)
    inner = sorted(original.boundaries() & altered.boundaries())
    places = pairwise([(0, 0), *inner, (len(abstract.segments), 0)])
    return tuple(
        Sentence(original.sentence(*place), altered.sentence(*place), original.whitespace(*place))
        for place in places
    )


@dataclass(frozen=True, slots=True)
class _Version:
    """One version: its text, where each segment starts in it (and the text's end), which segments are alternations."""

    text: str
    starts: tuple[int, ...]
    alternations: tuple[int, ...]

    def boundaries(self) -> set[Place]:
        """Where a sentence begins, save the first one."""
        places = (self._place(start) for start, _ in sentence_spans(self.text)[1:])
        return {(n, offset) for n, offset in places if offset == 0 or n not in self.alternations}

    def marked(self) -> MarkedText:
        return MarkedText(self.text, self._spans((0, 0), (len(self.starts), 0), 0))

    def sentence(self, start: Place, end: Place) -> MarkedText:
        """What stands between two places, without the whitespace around it (no passage begins or ends with it)."""
        piece = self._between(start, end)
        core = piece.strip(WHITESPACE)
        return MarkedText(core, self._spans(start, end, self._at(start) + piece.index(core)))

    def whitespace(self, start: Place, end: Place) -> str:
        """What follows the last word between two places."""
        piece = self._between(start, end)
        return piece[len(piece.rstrip(WHITESPACE)) :]

    def _at(self, place: Place) -> int:
        return self.starts[place[0]] + place[1]

    def _between(self, start: Place, end: Place) -> str:
        return self.text[self._at(start) : self._at(end)]

    def _place(self, at: int) -> Place:
        segment = max(n for n, start in enumerate(self.starts[:-1]) if start <= at)
        return segment, at - self.starts[segment]

    def _spans(self, start: Place, end: Place, origin: int) -> tuple[Span, ...]:
        return tuple(
            (self.starts[n] - origin, self.starts[n + 1] - origin)
            for n in self.alternations
            if start <= (n, 0) < end
        )


def _versions(abstract: Abstract) -> tuple[_Version, _Version]:
    alternations = tuple(
        n for n, segment in enumerate(abstract.segments) if isinstance(segment, Alternation)
    )
    original, altered = (
        [s.text if isinstance(s, Plain) else getattr(s, name) for s in abstract.segments]
        for name in ("original", "altered")
    )
    return _version(original, alternations), _version(altered, alternations)


def _version(texts: list[str], alternations: tuple[int, ...]) -> _Version:
    starts = tuple(accumulate((len(text) for text in texts), initial=0))
    return _Version("".join(texts), starts, alternations)
