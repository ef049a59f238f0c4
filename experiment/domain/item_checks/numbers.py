"""Numbers that were changed and mean the same. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from experiment.domain.item_checks.findings import Finding
from experiment.domain.item_checks.layout import Placed, placed
from experiment.domain.markup import Abstract

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
REASON = "An alternation asks for a finding: with either number the sentence says the same."


@dataclass(frozen=True, slots=True)
class Amount:
    value: Decimal
    kind: str  # of unit; empty for a bare number


def check_numbers(abstract: Abstract) -> Iterator[Finding]:
    """Warnings: the same value written otherwise, one nearly as large, a p value on the same side of .05, a sample size.

    >>> from experiment.domain.markup import parse
    >>> [f.message for f in check_numbers(parse("It took [[1 s, 1000 ms]] in [[three, 8]] rats."))]
    ['alternation 1: the same value, written otherwise']
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
        return "the same value, written otherwise"
    lead = _NUMBER.split(one.alternation.original)[0]
    before += lead
    if _N_BEFORE.search(before):
        return "how many there were is no finding"
    pairs = [(a.value, b.value) for a, b in zip(these, those, strict=True)]
    if _P_BEFORE.search(before):
        is_alike = all((a < SIGNIFICANT) == (b < SIGNIFICANT) for a, b in pairs)
        return "the p value stays on the same side of .05" if is_alike else ""
    if all(abs(a - b) <= SLIGHT * max(a, b) for a, b in pairs):
        return f"the values differ by less than {SLIGHT:.0%}"
    return ""
