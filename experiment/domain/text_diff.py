"""What an edit did to a text, word by word, as a person reads it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
# Of what stayed the same, so much is shown beside each change: about 12 words, with the spaces between them
CONTEXT = 24
# Longer stretches are shown as replaced whole: comparing them would take seconds
MOST_COMPARED = 500_000


@dataclass(frozen=True, slots=True)
class Piece:
    """`gap` stands for unchanged words that are left out, and has no text."""

    kind: Literal["same", "removed", "added", "gap"]
    text: str = ""


def word_diff(before: str, after: str) -> tuple[Piece, ...]:
    """The pieces of both texts in reading order.

    >>> [(p.kind, p.text) for p in word_diff("Rats slept more.", "Rats ran more.")]
    [('same', 'Rats '), ('removed', 'slept'), ('added', 'ran'), ('same', ' more.')]
    """
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    ends = len(old) - tail, len(new) - tail
    found = [Piece("same", "".join(old[:head]))]
    found += _middle(old[head : ends[0]], new[head : ends[1]])
    found.append(Piece("same", "".join(old[ends[0] :])))
    shown = _shortened([piece for piece in found if piece.text])
    return tuple(piece for piece in shown if piece.text or piece.kind == "gap")


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """How many words they begin with alike."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(old), len(new)))


def _middle(old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    if len(old) * len(new) > MOST_COMPARED:
        yield Piece("removed", "".join(old))
        yield Piece("added", "".join(new))
        return
    # Spaces are alike everywhere: they match beside words that do
    matcher = SequenceMatcher(str.isspace, old, new, autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            yield Piece("same", "".join(old[i:j]))
        else:
            yield Piece("removed", "".join(old[i:j]))
            yield Piece("added", "".join(new[k:m]))


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
