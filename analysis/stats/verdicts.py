"""Conclusions from a test, or from an interval that stands for one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from analysis.stats.arrays import Interval
from analysis.stats.families import Family, Question, Questions
from lib.levels import ENOUGH, LEVEL

HOLM, FDR, ALONE = "Holm", "Benjamini and Hochberg", "none: one test"
CHAPTER = "all tests of the chapter, an equal share for each question"
PEOPLE_AND_ITEMS = f"{ENOUGH} participants, {ENOUGH} test cases"
OF_ITEMS = f"{ENOUGH} test cases"
OF_TEMPLATES = f"{ENOUGH} clusters (templates, or questions without one)"


@dataclass(frozen=True)
class Concludes:
    """Beside the type of a field with a verdict, as `Annotated[Verdict, Concludes(...)]`: what it decides, and of which family.

    tests: which are corrected together; needs: the fewest of what varies, below which it is too few to say.
    """

    what: str
    tests: str = "this test"
    correction: str = ALONE
    needs: str = PEOPLE_AND_ITEMS


class Verdict(Enum):
    """On which side of 0 an estimate lies, where that can be said."""

    ABOVE = "above"
    BELOW = "below"
    UNCLEAR = "unclear"
    TOO_FEW = "too_few_to_say"

    @property
    def is_clear(self) -> bool:
        return self in (Verdict.ABOVE, Verdict.BELOW)

    @classmethod
    def of(cls, estimate: float, p: float | None, n_clusters: float = math.inf) -> Verdict:
        """p: two-sided, after the correction for its family; None or NaN where there is no test.

        n_clusters: the smaller number of participants and test cases, of those that vary.

        >>> [Verdict.of(0.1, p).name for p in (0.049, 0.05)], Verdict.of(-0.1, 0.01, 7).name
        (['ABOVE', 'UNCLEAR'], 'TOO_FEW')
        """
        if n_clusters < ENOUGH or p is None or math.isnan(p):
            return cls.TOO_FEW
        if p >= LEVEL:
            return cls.UNCLEAR
        return cls.ABOVE if estimate > 0 else cls.BELOW

    @classmethod
    def of_interval(
        cls, ci95: Interval | None, reference: float = 0.0, n_clusters: float = math.inf
    ) -> Verdict:
        """On which side of the reference the interval lies; n_clusters as in `of`.

        >>> Verdict.of_interval((0.6, 0.9), 0.5).name, Verdict.of_interval((0.5, 0.9), 0.5).name
        ('ABOVE', 'UNCLEAR')
        """
        if n_clusters < ENOUGH or ci95 is None:
            return cls.TOO_FEW
        low, high = ci95
        if low > reference:
            return cls.ABOVE
        return cls.BELOW if high < reference else cls.UNCLEAR


def clear_of(tests: Family, verdicts: Iterable[Verdict]) -> Family:
    """The family, of which as many are clear as their verdicts say."""
    return replace(tests, n_clear=_n_clear(verdicts))


def questions_of(
    after: Mapping[str, Sequence[float | None]], verdicts: Mapping[str, Iterable[Verdict | None]]
) -> Questions | None:
    """Questions from p values after `families.together` and the verdicts of the same tests. None where nothing is tested."""
    found = [
        Question(name, len(known), _n_clear(verdicts[name]), min(known))
        for name, values in after.items()
        if (known := [p for p in values if p is not None])
    ]
    return Questions(tuple(found)) if found else None


def _n_clear(verdicts: Iterable[Verdict | None]) -> int:
    return sum(one is not None and one.is_clear for one in verdicts)
