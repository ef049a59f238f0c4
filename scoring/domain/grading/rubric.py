"""A rubric as data: levels of points, deductions from them, the number that stands for an abstention."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import isnan
from typing import Any

from experiment.domain.item_checks.characters import UNSTORABLE
from lib import strict_json
from scoring.domain.backend import ScoringError

TOLERANCE = 1e-9  # of shares such as 2/3, which no float holds
MOST_LEVELS = 12
MOST_DEDUCTIONS = 6
MOST_POINTS = 1000
ABSTAINED = -1.0
KEYS = {"name", "levels", "deductions", "abstention", "good_from"}


class Fate(StrEnum):
    """The class of an answer. Every answer has one, those whose grade cannot be read too."""

    GOOD = "good"
    ABSTAINED = "abstained"
    BAD = "bad"
    UNPARSED = "unparsed"


@dataclass(frozen=True, slots=True)
class Level:
    """How right an answer is."""

    points: float
    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Deduction:
    """A deduction from an answer's points, once, whatever its level."""

    name: str
    points: float
    description: str = ""


@dataclass(frozen=True)
class Rubric:
    """How answers are graded.

    levels: the most points first. abstention: the number by which a grade says that the answer abstains, -1; None where
    that does not count. good_from: the share of the most points from which an answer is good, 0 to 1.
    """

    name: str
    levels: tuple[Level, ...]
    deductions: tuple[Deduction, ...]
    abstention: float | None
    good_from: float

    @cached_property
    def top(self) -> float:
        return max(level.points for level in self.levels)

    def total(self, level: float, deductions: Iterable[str] = ()) -> float:
        """Points of a level less deductions, by their names; never below 0.

        >>> BIOSCORE.total(3, ["harmless additions"]), BIOSCORE.total(0, ["misleading additions"])
        (2.5, 0.0)
        """
        known = {deduction.name: deduction.points for deduction in self.deductions}
        return max(0.0, level - sum(known[name] for name in set(deductions)))

    @cached_property
    def values(self) -> tuple[float, ...]:
        """Every grade that can be given, in ascending order, the abstention included.

        >>> BIOSCORE.values
        (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
        """
        names = [deduction.name for deduction in self.deductions]
        chosen = [some for n in range(len(names) + 1) for some in combinations(names, n)]
        found = {self.total(level.points, some) for level in self.levels for some in chosen}
        return tuple(sorted(found | ({self.abstention} if self.abstention is not None else set())))

    def normalised(self, points: float) -> float:
        """Share of the most points, 0 to 1: max(0, points) / top, clipped.

        >>> BIOSCORE.normalised(1.5), BIOSCORE.normalised(-1), BIOSCORE.normalised(7)
        (0.5, 0.0, 1.0)
        """
        return min(max(0.0, points), self.top) / self.top

    def fate(self, points: float | None) -> Fate:
        """The class of an answer with these points; None and NaN: nothing that could be read.

        >>> [str(BIOSCORE.fate(points)) for points in (2, 1.5, -1, -0.5, None)]
        ['good', 'bad', 'abstained', 'bad', 'unparsed']
        """
        if points is None or isnan(points):
            return Fate.UNPARSED
        if self.abstention is not None and abs(points - self.abstention) < TOLERANCE:
            return Fate.ABSTAINED
        is_good = self.normalised(points) >= self.good_from - TOLERANCE
        return Fate.GOOD if is_good else Fate.BAD

    @cached_property
    def sha256(self) -> str:
        """The hash of its JSON: rubrics with the same words and numbers have the same."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "levels": [asdict(level) for level in self.levels],
            "deductions": [asdict(deduction) for deduction in self.deductions],
            "abstention": self.abstention,
            "good_from": self.good_from,
        }

    @classmethod
    def from_text(cls, text: str) -> "Rubric":
        """A rubric as a person writes it.

        Raises:
            ScoringError: it is no JSON, with the place, or no rubric.
        """
        try:
            data = strict_json.loads(text)
        except json.JSONDecodeError as error:
            raise ScoringError(_misread(text, error)) from error
        except (ValueError, RecursionError) as error:
            raise ScoringError("This is not a rubric.") from error
        return cls.from_json(data)

    @classmethod
    def from_json(cls, data: Any) -> "Rubric":
        """The rubric that `to_json` gives, or a person wrote; a share may be written as a fraction, "2/3".

        Raises:
            ScoringError: it is no rubric; one sentence on what is wrong.
        """
        if not isinstance(data, Mapping) or not KEYS >= set(data) >= {"name", "levels"}:
            raise ScoringError(f"A rubric is an object with the entries {', '.join(sorted(KEYS))}.")
        abstention = data.get("abstention")
        levels = [
            Level(_number(row, "points"), _text(row, "label", 80), _text(row, "description"))
            for row in _rows(data, "levels", MOST_LEVELS)
        ]
        rubric = cls(
            name=_text(data, "name", 80),
            levels=tuple(sorted(levels, key=lambda level: -level.points)),
            deductions=tuple(
                Deduction(_text(row, "name", 80), _number(row, "points"), _text(row, "description"))
                for row in _rows(data, "deductions", MOST_DEDUCTIONS)
            ),
            abstention=None if abstention is None else _number(data, "abstention"),
            good_from=_share(data.get("good_from", "2/3")),
        )
        rubric.check()
        return rubric

    def check(self) -> None:
        """Refuse what gives no grades, or two meanings to one.

        Raises:
            ScoringError: one sentence on what is wrong.
        """
        points = [level.points for level in self.levels]
        names = [deduction.name for deduction in self.deductions]
        wrong = {
            "A rubric and each of its levels and deductions need a name.": not all(
                [self.name, *names, *(level.label for level in self.levels)]
            ),
            "A rubric needs at least two levels, with different points.": len(points) < 2
            or len(set(points)) < len(points),
            "Levels need at least 0 points.": min(points, default=0) < 0,
            "Deductions need different names, and more than 0 points.": len(set(names)) < len(names)
            or any(deduction.points <= 0 for deduction in self.deductions),
            "An abstention must be the number -1.": self.abstention not in (None, ABSTAINED),
            "good_from must be a share above 0 and at most 1.": not 0 < self.good_from <= 1,
        }
        for sentence, is_wrong in wrong.items():
            if is_wrong:
                raise ScoringError(sentence)


def _misread(text: str, error: json.JSONDecodeError) -> str:
    """
    >>> broken = '{"name": "Ten"\\n "levels": []}'
    >>> try:
    ...     json.loads(broken)
    ... except json.JSONDecodeError as error:
    ...     _misread(broken, error)
    'This is not JSON: line 2, column 2 cannot begin with “"levels": []}”. A comma, quotation mark or bracket may be missing.'
    """
    rest = text[error.pos :].split("\n", 1)[0].strip()[:20]
    where = f"line {error.lineno}, column {error.colno}"
    what = f"{where} cannot begin with “{rest}”" if rest else f"it ends unexpectedly at {where}"
    return f"This is not JSON: {what}. A comma, quotation mark or bracket may be missing."


def _rows(data: Mapping[str, Any], name: str, most: int) -> list[Mapping[str, Any]]:
    rows = data.get(name, [])
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise ScoringError(f"The {name} of a rubric must be a list of objects.")
    if len(rows) > most:
        raise ScoringError(f"A rubric can have at most {most} {name}.")
    return rows


def _text(row: Mapping[str, Any], name: str, most: int = 2000) -> str:
    text = row.get(name, "")
    if not isinstance(text, str) or len(text) > most or UNSTORABLE.search(text):
        raise ScoringError(
            f"In a rubric, {name} must be a text of at most {most} characters, without NUL and halves of characters."
        )
    return text.strip()


def _number(row: Mapping[str, Any], name: str) -> float:
    number = row.get(name)
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    # Holds of no NaN, and of no integer that is too large for a float
    if is_number and abs(number) <= MOST_POINTS:  # type: ignore[arg-type]
        return float(number)  # type: ignore[arg-type]
    raise ScoringError(f"In a rubric, {name} must be a number of at most {MOST_POINTS}.")


# Nothing that a few characters make a number of millions of digits
_SHARE = re.compile(r"\d{0,6}\.\d{1,20}|\d{1,6}(?: ?/ ?\d{1,6})?")


def _share(value: Any) -> float:
    try:
        if not isinstance(value, str):
            return _number({"s": value}, "s")
        if _SHARE.fullmatch(value.strip()) is None:
            raise ValueError(value)
        return float(Fraction(value.replace(" ", "")))
    except (ValueError, ZeroDivisionError, ScoringError) as error:
        raise ScoringError("good_from must be a number or a fraction such as 2/3.") from error


BIOSCORE = Rubric(
    name="BioScore",
    levels=(
        Level(3.0, "exact", "Says what the expert answer says, completely and correctly."),
        Level(2.0, "close", "Right, with minor slips or omissions that do not mislead."),
        Level(1.0, "partial", "Right in part; something that matters is missing or wrong."),
        Level(0.0, "wrong", "Wrong, contradicts the expert answer, or does not address it."),
    ),
    deductions=(
        Deduction("harmless additions", 0.5, "Adds what was not asked for, and does no harm."),
        Deduction("misleading additions", 1.0, "Adds what misleads the reader."),
    ),
    abstention=-1.0,
    good_from=2 / 3,
)
