"""Marks of remarkable test cases, by rules that chance seldom meets. Knows no rows."""

from collections.abc import Iterable
from datetime import date
from enum import StrEnum

# Everyone right, or no one: 8 judgments or more. Recognised: 3 of 8, or 5 of 20.
ALL_RIGHT_ABOVE = 2 / 3
NONE_RIGHT_BELOW = 1 / 3
RECOGNISED_ABOVE = 0.1
FEWEST_ASKED = 8


class Mark(StrEnum):
    ALL_RIGHT = "all_right"
    NONE_RIGHT = "none_right"
    RECOGNISED = "recognised"
    BEFORE_CUTOFF = "before_cutoff"

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS = {
    Mark.ALL_RIGHT: "everyone right",
    Mark.NONE_RIGHT: "no one right",
    Mark.RECOGNISED: "recognised often",
    Mark.BEFORE_CUTOFF: "before a cut-off",
}


def of_people(n: int, n_right: int, n_asked: int = 0, n_recognised: int = 0) -> tuple[Mark, ...]:
    """Marks by judgments.

    All right: every judgment is, and Wilson's 95% interval lies above 2/3. None right: none is, and it lies below 1/3.
    Recognised often: at least 8 were asked, and the interval of the share who recognised it lies above 10%.

    >>> of_people(8, 8), of_people(7, 7), of_people(8, 0, 8, 3)
    ((<Mark.ALL_RIGHT: 'all_right'>,), (), (<Mark.NONE_RIGHT: 'none_right'>, <Mark.RECOGNISED: 'recognised'>))
    """
    # Here: forms name the marks, and do without what computes them
    from analysis.stats.estimates import wilson

    found = []
    low, high = (float(end) for end in wilson(n_right, n))
    if n and n_right == n and low > ALL_RIGHT_ABOVE:
        found.append(Mark.ALL_RIGHT)
    if n and n_right == 0 and high < NONE_RIGHT_BELOW:
        found.append(Mark.NONE_RIGHT)
    if n_asked >= FEWEST_ASKED and float(wilson(n_recognised, n_asked)[0]) > RECOGNISED_ABOVE:
        found.append(Mark.RECOGNISED)
    return tuple(found)


def of_date(published: date | None, cutoffs: Iterable[date]) -> tuple[Mark, ...]:
    """Published on the last day of a model's training data or before it: the model may have read it.

    >>> of_date(date(2023, 1, 1), [date(2022, 12, 31), date(2023, 6, 30)])
    (<Mark.BEFORE_CUTOFF: 'before_cutoff'>,)
    """
    if published is not None and any(published <= day for day in cutoffs):
        return (Mark.BEFORE_CUTOFF,)
    return ()
