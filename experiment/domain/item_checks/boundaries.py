"""Passages that begin or end as their sentence does not. Pure.

Where a program cuts alternations wrongly, as at every comma, it leaves passages like these.
"""

import re
from collections.abc import Iterator

from experiment.domain.item_checks.findings import Finding, Level
from experiment.domain.item_checks.layout import Placed, placed, versions
from experiment.domain.item_checks.words import is_name
from experiment.domain.markup import Abstract

_SENTENCE_END = re.compile(r"(?:^|[.!?][)\]”\"']*\s+)$")
_ENDS = re.compile(r"[.!?][)\]”\"']*$")
_FIRST = re.compile(r"[(\[“\"']*([^\W_][\w-]*)")
_JOINING = frozenset({"and", "or", "but", "nor", "while", "whereas"})
_BORDER = re.compile(r"^[,;:.)\]]|[,;:(\[]$")
REASON = "A version that is no whole sentence is known by that, without knowing the field."


def check_boundaries(abstract: Abstract) -> Iterator[Finding]:
    """Warnings: a sentence that begins small, an end in one passage alone, a passage cut at a comma.

    >>> from experiment.domain.markup import parse
    >>> [f.code for f in check_boundaries(parse("Rats slept. [[In all, we]] they ran."))]
    ['sentence_start']
    >>> [f.code for f in check_boundaries(parse("However, [[rats, but not mice]], slept."))]
    ['cut_passage']
    """
    for one in placed(abstract):
        yield from _starts(one, abstract)
        one_ends, other_ends = (bool(_ENDS.search(side)) for _, side in one.sides)
        if one_ends != other_ends:
            yield one.warning(
                "sentence_end", "only one of the passages ends with its sentence", REASON
            )
        if _is_cut(one):
            yield one.warning(
                "cut_passage",
                "one passage begins or ends in the middle of a phrase, the other does not",
                REASON,
            )


def _starts(one: Placed, abstract: Abstract) -> Iterator[Finding]:
    for (at, side), (name, text) in zip(one.sides, versions(abstract), strict=True):
        first = _FIRST.match(side)
        if first is None or not first[1][0].islower() or is_name(first[1]):
            continue
        # Without letters before a hyphen, as in `p53` or `β-catenin`, it is spelled so everywhere
        if not first[1].split("-")[0].isascii() or len(first[1].split("-")[0]) == 1:
            continue
        if _SENTENCE_END.search(text[: at.start]):
            message = (
                f"alternation {one.n}: in the {name} version a sentence begins with “{first[1]}”"
            )
            yield Finding("sentence_start", Level.WARNING, message, REASON, side, at)


def _is_cut(one: Placed) -> bool:
    sides = [side for _, side in one.sides]
    joins = [
        (found := _FIRST.match(side)) is not None and found[1].lower() in _JOINING for side in sides
    ]
    borders = [_BORDER.findall(side) for side in sides]
    return joins[0] != joins[1] or borders[0] != borders[1]
