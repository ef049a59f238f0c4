"""On which items do people and language models differ? One exact test per item, corrected for their number.

Each item is a table of 2 x 2: people right and wrong, models right and wrong; Fisher's exact test, two-sided. The people
of an item are independent of one another. The models are not quite (shared training texts, base and chat partners):
the test takes them as draws from a population of models, given the item, so against *these* models it is cautious, and
for language models at large it is too sure, the more so the more partners are among them. Holding the models' share fixed
instead would make one wrong person impossible (p = 0) wherever all models are right. With few people per item only large
differences can be found: no finding is no equality.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Ints
from analysis.stats.estimates import wilson
from analysis.stats.families import holm

CHUNK = 2_000_000  # chances held at once
METHOD = (
    "For each test case, Fisher's exact test (two-sided) compares people's and models' right and wrong answers, "
    "with Benjamini-Hochberg's false discovery rate and Holm's correction at 0.05. Newcombe's hybrid score "
    "intervals (method 10) are not corrected."
)


@dataclass(frozen=True)
class ItemDifferences:
    """One entry per tested item, (items,): models' share minus people's, 95% interval, p, BH-adjusted q, Holm-adjusted p."""

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
    models_right: npt.ArrayLike,
    models: npt.ArrayLike,
) -> ItemDifferences:
    """Counts per item, (items,): right answers and answers of people, of models; each answered at least once.

    Raises NotEnough without items, ValueError where a count is impossible.

    >>> found = item_differences([0, 5], [5, 5], [15, 15], [15, 15])
    >>> found.difference.tolist(), bool(found.q[0] < 0.001), float(found.q[1])
    ([1.0, 0.0], True, 1.0)
    """
    a, n, b, m = (
        np.asarray(x, dtype=np.int64) for x in (people_right, people, models_right, models)
    )
    if not len(n):
        raise NotEnough(
            "No test case has both trials of people and scores of models.",
            "Let participants judge test cases that models have scored.",
        )
    if (
        (n < 1).any()
        or (m < 1).any()
        or (a < 0).any()
        or (b < 0).any()
        or (a > n).any()
        or (b > m).any()
    ):
        raise ValueError(
            "Every item needs answers of both sides, and no more right ones than answers."
        )
    p = fisher_p(a, n, b, m)
    low, high = newcombe(b, m, a, n)
    return ItemDifferences(
        humans=a / n,
        models=b / m,
        difference=b / m - a / n,
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
    parts = [slice(start, start + rows) for start in range(0, len(n), rows)]
    return np.concatenate([_fisher(a[p], n[p], b[p], m[p], tables) for p in parts])


def _fisher(a: Ints, n: Ints, b: Ints, m: Ints, tables: Ints) -> Floats:
    right = a + b
    margins = (n + m)[:, None], right[:, None], n[:, None]
    chances = scipy.stats.hypergeom.pmf(np.maximum(0, right - m)[:, None] + tables, *margins)
    observed = scipy.stats.hypergeom.pmf(a[:, None], *margins)
    alike = np.where(chances <= observed * (1 + 1e-7), chances, 0.0)
    return np.asarray(np.minimum(1.0, alike.sum(axis=1)))


def newcombe(a: Ints, n: Ints, b: Ints, m: Ints) -> tuple[Floats, Floats]:
    """95% interval of a/n - b/m from both Wilson intervals (Newcombe 1998, Stat. Med. 17:873, method 10).

    With (l, u) Wilson's limits: d - sqrt((p1 - l1)^2 + (u2 - p2)^2), d + sqrt((u1 - p1)^2 + (p2 - l2)^2).

    >>> low, high = newcombe(*(np.array([x]) for x in (56, 70, 48, 80)))
    >>> low.round(4), high.round(4)
    (array([0.0524]), array([0.3339]))
    """
    p, q = a / n, b / m
    (p_low, p_high), (q_low, q_high) = wilson(a, n), wilson(b, m)
    below, above = np.hypot(p - p_low, q_high - q), np.hypot(p_high - p, q - q_low)
    return p - q - below, p - q + above
