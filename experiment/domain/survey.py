"""Survey questions of a study team's own: which kinds there are, what each needs, and what an answer may be. Pure."""

import re
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any

MOST_QUESTIONS = 60  # of a study
MOST_LABELS, LONGEST_LABEL = 30, 200
LONGEST_END = 80  # of a scale
FEWEST_POINTS, MOST_POINTS = 2, 11
MOST_NUMBER = 1_000_000_000
LONGEST_TEXT = 1_000  # of a question, and of an answer in words
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
COLUMN = "survey_"  # what the name of an export's column begins with

# What a question of each kind has besides its text
PARTS: Mapping[str, tuple[str, ...]] = {
    "choice": ("labels",),
    "scale": ("points", "low", "high"),
    "number": ("lowest", "highest"),
    "text": (),
    "attention": ("labels", "correct"),
}


class Fault(StrEnum):
    """A fault in a question's parts; the page words each."""

    PARTS = "parts"
    LABELS = "labels"
    CORRECT = "correct"
    POINTS = "points"
    ENDS = "ends"
    RANGE = "range"


def fault_of(kind: str, parts: Mapping[str, Any]) -> Fault | None:
    """The first fault in what a question of this kind has besides its text; None where it is complete.

    >>> fault_of("choice", {"labels": ["yes", "no"]})
    >>> fault_of("choice", {"labels": ["yes"]}), fault_of("number", {"lowest": 5, "highest": 5})
    (<Fault.LABELS: 'labels'>, <Fault.RANGE: 'range'>)
    >>> fault_of("attention", {"labels": ["red", "blue"], "correct": "green"})
    <Fault.CORRECT: 'correct'>
    >>> fault_of("scale", {"points": 7, "low": "", "high": "completely"})
    <Fault.ENDS: 'ends'>
    """
    if set(parts) != set(PARTS[kind]):
        return Fault.PARTS
    if kind in ("choice", "attention"):
        return _fault_of_labels(parts)
    if kind == "scale":
        return _fault_of_scale(parts)
    return _fault_of_range(parts) if kind == "number" else None


def _fault_of_labels(parts: Mapping[str, Any]) -> Fault | None:
    labels = parts["labels"]
    if not isinstance(labels, list) or not 2 <= len(labels) <= MOST_LABELS:
        return Fault.LABELS
    if not all(map(_is_label, labels)) or len(set(labels)) < len(labels):
        return Fault.LABELS
    return None if parts.get("correct", labels[0]) in labels else Fault.CORRECT


def _fault_of_scale(parts: Mapping[str, Any]) -> Fault | None:
    points = parts["points"]
    if not (_is_whole(points) and FEWEST_POINTS <= points <= MOST_POINTS):
        return Fault.POINTS
    are_labels = all(_is_label(parts[end], LONGEST_END) for end in ("low", "high"))
    return None if are_labels else Fault.ENDS


def _fault_of_range(parts: Mapping[str, Any]) -> Fault | None:
    ends = parts["lowest"], parts["highest"]
    are_numbers = all(_is_whole(end) and abs(end) <= MOST_NUMBER for end in ends)
    return None if are_numbers and ends[0] < ends[1] else Fault.RANGE


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_label(value: Any, longest: int = LONGEST_LABEL) -> bool:
    """One printable line."""
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        return False
    return value == value.strip() and value.isprintable()


def levels(kind: str, parts: Mapping[str, Any]) -> tuple[str, ...]:
    """The only answers that there can be, as they are stored; empty where any number or text can be one.

    >>> levels("scale", {"points": 3, "low": "not at all", "high": "completely"})
    ('1', '2', '3')
    """
    if kind in ("choice", "attention"):
        return tuple(parts["labels"])
    if kind == "scale":
        return tuple(str(point) for point in range(1, parts["points"] + 1))
    return ()


def plain_number(value: Decimal) -> str:
    """A number as it is stored: equal numbers are equal texts.

    >>> plain_number(Decimal("4.50")), plain_number(Decimal("100")), plain_number(Decimal("-0"))
    ('4.5', '100', '0')
    """
    return f"{value.normalize():f}" if value else "0"
