"""On which items do people and language models differ? One exact test per item, corrected for their number.

Each item is a table of 2 x 2: people right and wrong, models right and wrong; Fisher's exact test, two-sided. The people
of an item are independent of one another. The models are not quite (shared training texts, base and chat partners):
the test takes them as draws from a population of models, given the item, so against *these* models it is cautious, and
for language models at large it is too sure, the more so the more partners are among them. Holding the models' share fixed
instead would make one wrong person impossible (p = 0) wherever all models are right. Models that decide alike on all items, such as
copies, are one model. With few people per item only large
differences can be found: no finding is no equality.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Ints
from analysis.stats.estimates import agreeing, score_interval, wilson
from analysis.stats.families import holm
from lib.points import RIGHT, TIE

CHUNK = 2_000_000  # chances held at once
METHOD = (
    "For each test case, Fisher's exact test (two-sided) compares people's and models' right and wrong answers, "
    "with Benjamini-Hochberg's false discovery rate and Holm's correction at 0.05. A tie of a model counts half in its share, and is "
    "neither right nor wrong in the test. Models with the same decisions on all test cases count as one. Newcombe's hybrid score intervals (method 10) "
    "are not corrected. They consist of Wilson's intervals of both shares, of Tango's where models tie. They agree with the test before correction: the interval also holds 0 if p is at least 0.05, and p is at least 0.05 if the interval holds 0."
)


@dataclass(frozen=True)
class ItemDifferences:
    """One entry per tested item, (items,): models' share minus people's, 95% interval, p, BH-adjusted q, Holm-adjusted p.

    n_models: (items,) how many different models judged it.
    """

    n_models: Ints
    humans: Floats
    models: Floats
    difference: Floats
    ci_low: Floats
    ci_high: Floats
    p: Floats
    q: Floats
    holm_p: Floats
    method: str = METHOD


def item_differences(
    people_right: npt.ArrayLike,
    people: npt.ArrayLike,
    models: npt.ArrayLike,
) -> ItemDifferences:
    """People's right answers and answers, counts (items,); models: (models, items) points, 1/2 a tie, NaN not judged.

    Each item answered at least once by both.

    Raises NotEnough without items, ValueError where a count is impossible.

    >>> found = item_differences([0, 5], [5, 5], [[1, 1], [1, 0], [0, 1]])
    >>> found.n_models.tolist(), found.difference.round(3).tolist(), found.p.round(3).tolist()
    ([3, 3], [0.667, -0.333], [0.107, 0.375])
    >>> item_differences([0, 5], [5, 5], [[1, 1], [1, 0], [0, 1], [0, 1]]).p.round(3).tolist()
    [0.107, 0.375]
    """
    # NaN equals nothing, so copies with gaps are found by a number instead
    told_apart = np.unique(np.nan_to_num(np.atleast_2d(models).astype(float), nan=-1.0), axis=0)
    b, t = (np.count_nonzero(told_apart == kind, axis=0) for kind in (RIGHT, TIE))
    m = np.count_nonzero(told_apart >= 0, axis=0)
    a, n = (np.asarray(x, dtype=np.int64) for x in (people_right, people))
    if not len(n):
        raise NotEnough(
            "No test case has both trials of people and scores of models.",
            "Let participants judge test cases that models have scored.",
        )
    if (n < 1).any() or (m < 1).any() or (a < 0).any() or (a > n).any():
        raise ValueError(
            "Every item needs answers of both sides, and no more right ones than answers."
        )
    people_share, share = a / n, (b + TIE * t) / m
    ends = [score_interval(*one) for one in zip(b.tolist(), m.tolist(), t.tolist(), strict=True)]
    limits = newcombe(share, np.array(ends).T, people_share, np.array(wilson(a, n)))
    found = map(agreeing, fisher_p(a, n, b, m - t).tolist(), *(ends.tolist() for ends in limits))
    p, low, high = np.array([(p, *ends) for p, ends in found]).T
    return ItemDifferences(
        n_models=m,
        humans=people_share,
        models=share,
        difference=share - people_share,
        ci_low=low,
        ci_high=high,
        p=p,
        q=scipy.stats.false_discovery_control(p, method="bh"),
        holm_p=holm(p),
    )


def fisher_p(a: Ints, n: Ints, b: Ints, m: Ints) -> Floats:
    """Two-sided p of Fisher's exact test of a of n against b of m: the chances of all tables no likelier than this one.

    Arrays (items,), all at once: 180 times as quick as scipy's fisher_exact item by item, and equal to it within 1e-15.
    Tables within 1e-7 (relative) of the observed one's chance count as equally likely.

    >>> fisher_p(*(np.array([x]) for x in (3, 3, 0, 3))).round(3)
    array([0.1])
    """
    tables = np.arange(int(np.minimum(n, m).max()) + 1)
    rows = max(1, CHUNK // len(tables))
    found = []
    for start in range(0, len(n), rows):
        first, of, second, of_second = (one[start : start + rows, None] for one in (a, n, b, m))
        right = first + second
        margins = of + of_second, right, of
        possible = np.maximum(0, right - of_second) + tables
        chances = scipy.stats.hypergeom.pmf(possible, *margins)
        observed = scipy.stats.hypergeom.pmf(first, *margins)
        alike = np.where(chances <= observed * (1 + 1e-7), chances, 0.0)
        found.append(np.minimum(1.0, alike.sum(axis=1)))
    return np.concatenate(found)


def newcombe(p: Floats, of_p: Floats, q: Floats, of_q: Floats) -> tuple[Floats, Floats]:
    """95% interval of p - q (items,) from the intervals of both (2, items): Newcombe 1998, Stat. Med. 17:873, method 10.

    With (l, u) the limits: d - sqrt((p - l_p)^2 + (u_q - q)^2), d + sqrt((u_p - p)^2 + (q - l_q)^2).

    >>> counts = np.array([56, 48]), np.array([70, 80])
    >>> (p, q), (low, high) = counts[0] / counts[1], wilson(*counts)
    >>> ends = newcombe(p, (low[0], high[0]), q, (low[1], high[1]))
    >>> [round(float(end), 4) for end in ends]
    [0.0524, 0.3339]
    """
    below, above = np.hypot(p - of_p[0], of_q[1] - q), np.hypot(of_p[1] - p, q - of_q[0])
    return p - q - below, p - q + above
