"""Differences between two texts: as markup, and word by word as a person reads an edit. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from typing import Literal

from experiment.domain.looks import looks
from experiment.domain.markup import Alternation, MarkupError, Plain, Segment, parse, render

# A word or a sign, with the white space before it; white space at the end
_TOKENS = re.compile(r"\s*(?:\w+(?:['\u2019-]\w+)*|[^\w\s])|\s+\Z")
# The same with a letter's marks, which may stand behind it, and no more than one word
_MARKED_WORDS = re.compile(r"\s*(?:[\w\u0300-\u036f]+|[^\w\s])|\s+\Z")
_Opcode = tuple[str, int, int, int, int]
_Piece = tuple[list[str], list[str]]
# Words, and pairs of equal ones, that a comparison may look at, less than 100 ms: of few different words there are as many as the cube of a text's length
MOST_STEPS = 150_000


def markup_between(original: str, altered: str) -> str | None:
    """Markup that gives exactly these versions; None where no words of theirs can be set against each other.

    >>> markup_between("Rats slept more, and ate.", "Rats ran more, and ate less.")
    'Rats [[slept, ran]] more, and [[ate, ate less]].'
    """
    words = _TOKENS.findall(original), _TOKENS.findall(altered)
    # Where white space differs between two changes, they are one
    for most_steps in (MOST_STEPS, 0):
        markup = render(_segments(_pieces(*words, most_steps)))
        try:
            abstract = parse(markup)
        except MarkupError:
            continue
        if (abstract.original, abstract.altered) == (original, altered):
            return markup
    return None


def written_alike(original: str, altered: str) -> str:
    """The altered version with all that looks the same as in the original written as there.

    >>> written_alike("A naïve rat slept.", "A\u00a0nai\u0308ve rat\u00a0ran.")
    'A naïve rat ran.'
    """
    if looks(original) == original and looks(altered) == altered:
        return altered  # written in the plainest way
    ours, theirs = _MARKED_WORDS.findall(original), _MARKED_WORDS.findall(altered)
    seen = [looks(word) for word in ours], [looks(word) for word in theirs]
    written = ""
    for tag, i, i_end, j, j_end in _opcodes(*seen, MOST_STEPS):
        one, other = "".join(ours[i:i_end]), "".join(theirs[j:j_end])
        if tag == "equal" or looks(one) == looks(other):
            other = one
        elif one[:1].isspace() and other[:1].isspace():  # before words that differ
            other = one[: len(one) - len(one.lstrip())] + other.lstrip()
        written += other
    return written


def _segments(pieces: list[_Piece]) -> list[Segment]:
    segments: list[Segment] = []
    for one, other in pieces:
        if one == other:
            segments.append(Plain("".join(one)))
        else:
            # Passages begin and end with a word: the white space around them belongs to both versions
            old, new = "".join(one), "".join(other)
            space = old[: len(old) - len(old.lstrip())]
            segments += [Plain(space), Alternation(old.strip(), new.strip())]
    # Stretches of plain text that meet are one
    joined: list[Segment] = []
    for segment in segments:
        if isinstance(segment, Plain) and joined and isinstance(last := joined[-1], Plain):
            joined[-1] = Plain(last.text + segment.text)
        elif not isinstance(segment, Plain) or segment.text:
            joined.append(segment)
    return joined


def _pieces(original: list[str], altered: list[str], most_steps: int) -> list[_Piece]:
    """The pieces that both have, and those in whose place they differ; neither side of a difference is empty where that can be."""
    pieces: list[_Piece] = []
    for tag, i, i_end, j, j_end in _opcodes(original, altered, most_steps):
        one, other = original[i:i_end], altered[j:j_end]
        if tag == "equal" and pieces and not all(pieces[-1]):
            # Words were added at the very beginning: the first common one goes with them
            before = pieces.pop()
            pieces.append(([*before[0], one[0]], [*before[1], one[0]]))
            one = other = one[1:]
            if not one:
                continue
        elif tag in ("insert", "delete") and pieces:
            before = pieces.pop()
            if before[0] == before[1]:
                *common, word = before[0]
                pieces.append((common, common))
                before = [word], [word]
            one, other = [*before[0], *one], [*before[1], *other]
        pieces.append((one, other))
    return [piece for piece in pieces if any(piece)]


class _TooLongError(Exception):
    """The comparison would take more steps than it may."""


class _Bounded(SequenceMatcher[str]):
    """Raises _TooLongError before it looks at more words and pairs of equal ones than `most`."""

    def __init__(self, old: Sequence[str], new: Sequence[str], most: int) -> None:
        self.left = most
        super().__init__(None, old, new, autojunk=False)

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        places: dict[str, list[int]] = self.b2j  # type: ignore[attr-defined]
        words: Sequence[str] = self.a[alo:ahi]  # type: ignore[attr-defined]
        self.left -= len(words) + sum(len(places.get(word, ())) for word in words)
        if self.left < 0:
            raise _TooLongError
        return super().find_longest_match(alo, ahi, blo, bhi)


def _opcodes(original: list[str], altered: list[str], most_steps: int) -> list[_Opcode]:
    """The beginning and the end that both have are found first."""
    n, m = len(original), len(altered)
    head = _n_common(original, altered)
    tail = _n_common(original[head:][::-1], altered[head:][::-1])
    i, j = n - tail, m - tail
    old, new = original[head:i], altered[head:j]
    changes: Sequence[_Opcode]
    try:
        changes = _Bounded(old, new, most_steps).get_opcodes()
    except _TooLongError:
        changes = [("replace", 0, len(old), 0, len(new))]  # of everything
    middle = [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in changes]
    ends = [("equal", 0, head, 0, head)] if head else [], [("equal", i, n, j, m)] if tail else []
    return [*ends[0], *middle, *ends[1]]


def _n_common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words they begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_SPACED = re.compile(r"\s*(?:\w+|[^\w\s])|\s+\Z")
# Of what stayed the same, so much is shown beside each change: about 12 words, with the spaces between them
CONTEXT = 24


@dataclass(frozen=True, slots=True)
class Piece:
    """`gap` stands for unchanged words that are left out, and has no text."""

    kind: Literal["same", "removed", "added", "gap"]
    text: str = ""


def word_diff(before: str, after: str, most_steps: int = MOST_STEPS) -> tuple[Piece, ...]:
    """The pieces of both texts in reading order; after so many steps, all that differs is one replacement.

    >>> [(p.kind, p.text) for p in word_diff("Rats slept more.", "Rats ran more.")]
    [('same', 'Rats '), ('removed', 'slept'), ('added', 'ran'), ('same', ' more.')]
    """
    merged: list[Piece] = []
    for piece in _differences(before, after, most_steps):
        if merged and merged[-1].kind == piece.kind == "same":
            merged[-1] = Piece("same", merged[-1].text + piece.text)
        elif piece.text:
            merged.append(piece)
    return tuple(piece for piece in _shortened(merged) if piece.text or piece.kind == "gap")


def _differences(before: str, after: str, most_steps: int) -> Iterator[Piece]:
    """White space goes with the word behind it, but where words change it stays."""
    old, new = _SPACED.findall(before), _SPACED.findall(after)
    for tag, i, j, k, m in _opcodes(old, new, most_steps):
        one, other = "".join(old[i:j]), "".join(new[k:m])
        if tag == "equal":
            yield Piece("same", one)
            continue
        space = one[: _n_common(one[: _indent(one)], other[: _indent(other)])]
        yield Piece("same", space)
        yield Piece("removed", one.removeprefix(space))
        yield Piece("added", other.removeprefix(space))


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _shortened(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Leave out the middle of long stretches that stayed the same."""
    for n, piece in enumerate(pieces):
        words = _WORDS.findall(piece.text)
        before = CONTEXT if n else 0
        after = CONTEXT if n + 1 < len(pieces) else 0
        if piece.kind != "same" or len(words) <= before + after + CONTEXT:
            yield piece
            continue
        yield Piece("same", "".join(words[:before]))
        yield Piece("gap")
        yield Piece("same", "".join(words[len(words) - after :]))
