"""Checks of a text's alternations: numbers, contradictions, and edits where the writers' criteria allow none. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

from rapidfuzz.distance import LCSseq

from experiment.domain.item_checks.findings import Context, Finding, Placed, placed
from experiment.domain.item_checks.words import direction, is_name, stem
from experiment.domain.markup import Abstract
from lib.sentences import sentence_spans

_NAMES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
_SPELLED = {name: Decimal(n) for n, name in enumerate(_NAMES)}
_UNITS = {
    unit: (kind, Decimal(size))
    for kind, sizes in {
        "time": {
            "ms": "0.001",
            "s": "1",
            "sec": "1",
            "second": "1",
            "seconds": "1",
            "min": "60",
            "minutes": "60",
            "h": "3600",
            "hours": "3600",
        },
        "mass": {"µg": "0.000001", "mg": "0.001", "g": "1", "kg": "1000"},
        "length": {"nm": "0.000000001", "µm": "0.000001", "mm": "0.001", "cm": "0.01", "m": "1"},
        "frequency": {"Hz": "1", "kHz": "1000"},
        "share": {"%": "0.01", "percent": "0.01"},
    }.items()
    for unit, size in sizes.items()
}
_NUMBER = re.compile(
    rf"(?<![\w.])(?:(\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d*\.?\d+)|({'|'.join(_NAMES)})\b)"
    rf"(?:[\s-]?({'|'.join(sorted(map(re.escape, _UNITS), key=len, reverse=True))})(?!\w))?",
)
# A change by less is no other finding
SLIGHT = Decimal("0.1")
_P_BEFORE = re.compile(r"\bp\s*[<=>≤]\s*$", re.I)
_N_BEFORE = re.compile(r"\bn\s*=\s*$", re.I)
SIGNIFICANT = Decimal("0.05")
REASON = "An alternation must change a finding, but with either number the sentence has the same meaning."


@dataclass(frozen=True, slots=True)
class Amount:
    value: Decimal
    kind: str  # of unit; empty for a bare number


def check_numbers(abstract: Abstract) -> Iterator[Finding]:
    """Warnings: the same value written otherwise, one nearly as large, a p value on the same side of .05, a sample size.

    >>> from experiment.domain.markup import parse
    >>> [f.message for f in check_numbers(parse("It took [[1 s, 1000 ms]] in [[three, 8]] rats."))]
    ['alternation 1: the same value in another notation']
    """
    for one in placed(abstract):
        rests, amounts = zip(*(_taken_apart(side) for _, side in one.sides), strict=True)
        if not amounts[0] or rests[0] != rests[1] or len(amounts[0]) != len(amounts[1]):
            continue
        before = abstract.original[: one.original.start]
        if message := _same(before, one, *amounts):
            yield one.warning("number", message, REASON)


def _taken_apart(passage: str) -> tuple[str, list[Amount]]:
    """A passage with its amounts cut out, and these."""
    amounts = []
    for found in _NUMBER.finditer(passage):
        digits, spelled, unit = found.groups()
        value = Decimal(digits.replace(",", "")) if digits else _SPELLED[spelled]
        kind, size = _UNITS[unit] if unit else ("", Decimal(1))
        amounts.append(Amount(value * size, kind))
    return _NUMBER.sub("#", passage).casefold(), amounts


def _same(before: str, one: Placed, these: list[Amount], those: list[Amount]) -> str:
    if any(a.kind != b.kind for a, b in zip(these, those, strict=True)):
        return ""
    if these == those:
        return "the same value in another notation"
    lead = _NUMBER.split(one.alternation.original)[0]
    before += lead
    if _N_BEFORE.search(before):
        return "a sample size is not a finding"
    pairs = [(a.value, b.value) for a, b in zip(these, those, strict=True)]
    if _P_BEFORE.search(before):
        is_alike = all((a < SIGNIFICANT) == (b < SIGNIFICANT) for a, b in pairs)
        return "the p value stays on the same side of .05" if is_alike else ""
    if all(abs(a - b) <= SLIGHT * max(a, b) for a, b in pairs):
        return f"the values differ by less than {SLIGHT:.0%}"
    return ""


# Content words around two alternations that must be the same for both to be about one finding
MIN_SHARED = 3
# Each is held against each; the published abstracts have at most a dozen or two
MOST_ALTERNATIONS = 100
CONTRADICTION_REASON = "The altered abstract must be consistent. Readers can detect a contradiction without knowing the field."


def check_contradictions(abstract: Abstract) -> Iterator[Finding]:
    """Warnings, at the second of two alternations.

    Two are found to contradict each other where one name became two, or where they speak of more and less about the
    same words and only one of them was turned round.

    >>> from experiment.domain.markup import parse
    >>> text = "Cells of the [[VTA, PFC]] fired. So the [[VTA, NAc]] matters."
    >>> [finding.message for finding in check_contradictions(parse(text))]
    ['alternation 2: “VTA” became “NAc” here and “PFC” in alternation 1']
    """
    context = Context(abstract.original)
    for first, second in combinations(placed(abstract)[:MOST_ALTERNATIONS], 2):
        if message := _two_names(first, second) or _one_turned(first, second, context):
            yield second.warning("contradiction", message, CONTRADICTION_REASON)


def _two_names(first: Placed, second: Placed) -> str:
    one, other = first.alternation, second.alternation
    is_same = stem(one.original) == stem(other.original) and is_name(one.original)
    if not is_same or stem(one.altered) == stem(other.altered):
        return ""
    return f"“{other.original}” became “{other.altered}” here and “{one.altered}” in alternation {first.n}"


def _one_turned(first: Placed, second: Placed, context: Context) -> str:
    signs = [direction(side) for one in (first, second) for _, side in one.sides]
    if 0 in signs:
        return ""
    agree_before, agree_after = signs[0] == signs[2], signs[1] == signs[3]
    if agree_before == agree_after:
        return ""
    about = [context.around(one.original.start, one.original.end) for one in (first, second)]
    if len(about[0] & about[1]) < MIN_SHARED:
        return ""
    was, became = ("agrees", "disagrees") if agree_before else ("disagrees", "agrees")
    return (
        f"in the original it {was} with alternation {first.n}, in the altered version it {became}"
    )


N_OPENING = 2
# Of a sentence's words, in both passages
MIN_SHARED_WORDS = 0.5
MIN_SENTENCE_WORDS = 4


def check_opening(abstract: Abstract) -> Iterator[Finding]:
    """Warnings: what comes first is background and method, which the test leaves as they are.

    >>> from experiment.domain.markup import parse
    >>> text = "Rats [[sleep, run]]. We watched. They [[slept, ran]]."
    >>> [finding.quote for finding in check_opening(parse(text))]
    ['sleep | run']
    """
    spans = sentence_spans(abstract.original)
    # A text of so few sentences has no opening to keep
    if len(spans) <= N_OPENING:
        return
    opening_end = spans[N_OPENING - 1][1]
    for one in placed(abstract):
        if one.original.start < opening_end:
            yield one.warning(
                "edited_opening",
                f"it is in the first {N_OPENING} sentences",
                "The first sentences give the background. Only findings should be altered.",
            )


def check_whole_sentences(abstract: Abstract) -> Iterator[Finding]:
    """Warnings: of a sentence in both passages, most words are the same.

    >>> from experiment.domain.markup import parse
    >>> text = "We watched. [[The old rats slept well | The old rats ran well]]."
    >>> [finding.message for finding in check_whole_sentences(parse(text))]
    ['alternation 1: a whole sentence, of which 4 of 5 words are the same']
    """
    spans = [sentence_spans(text) for text in (abstract.original, abstract.altered)]
    for one in placed(abstract):
        # The full stop may stand behind the passage
        is_whole = any(
            side.start <= start and end - 1 <= side.end
            for (side, _), sentences in zip(one.sides, spans, strict=True)
            for start, end in sentences
        )
        if not is_whole:
            continue
        mine, other = (side.split() for _, side in one.sides)
        n_same, n = LCSseq.similarity(mine, other), max(len(mine), len(other))
        if n >= MIN_SENTENCE_WORDS and n_same >= MIN_SHARED_WORDS * n:
            yield one.warning(
                "whole_sentence",
                f"a whole sentence, of which {n_same} of {n} words are the same",
                "An alternation should contain only the words that differ. A long one hides the question.",
            )
