"""What may be concluded from a test: for slopes over trials, arms with advice and what moved people."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from enum import Enum

from analysis.stats.families import LEVEL, Family

ENOUGH = 8  # participants and test cases, below which the level of a test is not known


class Verdict(Enum):
    """On which side of 0 an estimate lies, where that can be said."""

    ABOVE = "above"
    BELOW = "below"
    UNCLEAR = "unclear"
    TOO_FEW = "too_few_to_say"

    @classmethod
    def of(cls, estimate: float, p: float | None, n_clusters: float = math.inf) -> Verdict:
        """p: two-sided, after the correction for its family; None or NaN where there is no test.

        n_clusters: the smaller number of participants and test cases, of those that vary.

        >>> [Verdict.of(0.1, p).name for p in (0.01, 0.2)], Verdict.of(-0.1, 0.01, 7).name
        (['ABOVE', 'UNCLEAR'], 'TOO_FEW')
        """
        if n_clusters < ENOUGH or p is None or math.isnan(p):
            return cls.TOO_FEW
        if p >= LEVEL:
            return cls.UNCLEAR
        return cls.ABOVE if estimate > 0 else cls.BELOW


def clear_of(tests: Family, verdicts: Iterable[Verdict]) -> Family:
    """The family, of which as many are clear as their verdicts say."""
    return replace(tests, n_clear=sum(one in (Verdict.ABOVE, Verdict.BELOW) for one in verdicts))
