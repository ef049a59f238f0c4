"""Rates under other thresholds: from which points an answer is good, and what counts as an abstention."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from analysis.stats.arrays import Bools, Floats
from analysis.stats.graded import ABSTAINED, FATES
from analysis.stats.graded.rates import ClusteredRates, rates_of_counts
from analysis.stats.graded.ratios import clusters_of
from scoring.domain.grading.rubric import Rubric

GOOD_FROM = (1 / 3, 1 / 2, 2 / 3, 5 / 6, 1.0)


class Abstaining(StrEnum):
    """Answers that count as abstentions."""

    RUBRIC = "as in the rubric"
    NEGATIVE = "also any points below 0"
    UNPARSED = "also unreadable grades"
    NO_TEXT = "also answers without a text"


@dataclass(frozen=True)
class Sensitivity:
    """Rates where an answer is good from that share of the most points; is_rule: as the rubric itself has both."""

    good_from: float
    abstaining: Abstaining
    is_rule: bool
    rates: ClusteredRates


def by_threshold(
    points: Sequence[float | None],
    rubric: Rubric,
    templates: Sequence[Hashable],
    questions: Sequence[Hashable] | None = None,
    has_text: Sequence[bool] | None = None,
) -> Iterator[Sensitivity]:
    """Rates of a model's n answers under each of `GOOD_FROM` and the rubric's own, by each `Abstaining`.

    points: (n,), None or NaN unparsed; templates, questions: as in `clustered_rates`; has_text: (n,) False where nobody could
    grade, all where it is None. Raises NotEnough without a row, ValueError where lengths differ.

    >>> from scoring.domain.grading.rubric import BIOSCORE
    >>> found = list(by_threshold([3, 2, 1, -1], BIOSCORE, [None] * 4))
    >>> [(round(one.good_from, 2), one.rates.rates.rqr) for one in found[:5]]
    [(0.33, 0.75), (0.5, 0.5), (0.67, 0.5), (0.83, 0.25), (1.0, 0.25)]
    """
    given: Floats = np.asarray([np.nan if one is None else one for one in points], dtype=np.float64)
    texts: Bools = np.ones(len(given), dtype=bool) if has_text is None else np.asarray(has_text, dtype=bool)  # fmt: skip
    cluster = clusters_of(templates, questions)
    if not len(given) == len(texts) == len(cluster):
        raise ValueError("points, templates and has_text are of one length.")
    shares = {round(share, 9): share for share in (*GOOD_FROM, rubric.good_from)}
    readings = {
        Abstaining.RUBRIC: np.zeros(len(given), dtype=bool),
        Abstaining.NEGATIVE: given < 0,
        Abstaining.UNPARSED: np.isnan(given) & texts,
        Abstaining.NO_TEXT: np.isnan(given) & ~texts,
    }
    values, place = np.unique(given, return_inverse=True)
    n = int(cluster.max(initial=-1)) + 1
    for abstaining, also in readings.items():
        for share in sorted(shares):
            read = replace(rubric, good_from=shares[share])
            fates = [FATES.index(read.fate(value)) for value in values.tolist()]
            codes = np.array(fates, dtype=np.int64)[place]
            codes[also] = FATES.index(ABSTAINED)
            is_rule = share == round(rubric.good_from, 9) and abstaining is Abstaining.RUBRIC
            cells = np.bincount(cluster * len(FATES) + codes, minlength=n * len(FATES))
            rates = rates_of_counts(cells.reshape(n, len(FATES)))
            yield Sensitivity(shares[share], abstaining, is_rule, rates)
