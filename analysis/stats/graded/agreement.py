"""How far two graders agree beyond chance: weighted kappa, Krippendorff's alpha, and the table of both."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Interval, Ints
from analysis.stats.graded.jackknife import INTERVAL, correlation_interval, groups_of

Weights = Literal["quadratic", "none"]
MOST_VALUES = 200  # of grades; every two of them have a cell

KAPPA = f"Cohen's kappa, {{weighted}}; {INTERVAL}."
ALPHA = f"Krippendorff's alpha, interval; {INTERVAL}."


@dataclass(frozen=True)
class Agreement:
    """value: 1 is full agreement, 0 what chance gives; NaN where every grade is the same. n: units that two graded."""

    value: float
    n: int
    ci95: Interval | None
    method: str


def confusion(a: Sequence[Hashable], b: Sequence[Hashable], categories: Sequence[Hashable]) -> Ints:
    """(k, k) how often a (rows) said one category and b (columns) another; units of which one is None or NaN are left out.

    Raises ValueError for what is no category, and where a and b have other lengths.

    >>> confusion(["good", "bad", None], ["good", "good", "bad"], ["good", "bad"]).tolist()
    [[1, 0], [1, 0]]
    """
    first, second, _ = _places(a, b, categories)
    k = len(categories)
    cells = np.bincount(first * k + second, minlength=k * k).reshape(k, k)
    return np.asarray(cells, dtype=np.int64)


def weighted_kappa(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    categories: Sequence[Hashable],
    weights: Weights = "quadratic",
    clusters: Ints | None = None,
) -> Agreement:
    """Cohen's (1968) kappa of two graders' grades (n,), 1 - sum of w p / sum of w e over pairs of categories.

    p: share of units with that pair; e: product of the graders' own shares; w = (i - j)^2 or (i != j) of the
    places i, j in `categories`, which are in order. Units of which one grade is None or NaN are left out. clusters: (n,)
    units that are alike; none: each for itself. Raises NotEnough where no unit has both grades, ValueError as `confusion`.
    Checked against scikit-learn's.

    >>> weighted_kappa([0, 0, 1, 1], [0, 0, 1, 0], [0, 1]).value  # (.75 - .5) / (1 - .5)
    0.5
    """
    first, second, kept = _places(a, b, categories)
    if not len(first):
        raise NotEnough("No answer was graded by both.", "Let both grade the same answers.")
    k = len(categories)
    cells = first * k + second
    apart = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
    cost = (apart**2 if weights == "quadratic" else apart > 0).astype(np.float64)

    def kappa(rows: Bools) -> float:
        table = np.bincount(cells[rows], minlength=k * k).reshape(k, k).astype(np.float64)
        chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(1.0, table.sum())
        return _beyond(float((cost * table).sum()), float((cost * chance).sum()))

    value = kappa(np.ones(len(cells), dtype=bool))
    groups = groups_of(kept if clusters is None else np.asarray(clusters)[kept])
    interval = correlation_interval(value, groups, kappa)
    return Agreement(
        value,
        len(cells),
        interval,
        KAPPA.format(weighted="unweighted" if weights == "none" else f"{weights} weights"),
    )


def krippendorff_alpha(ratings: npt.ArrayLike, clusters: Ints | None = None) -> Agreement:
    """Krippendorff's (2011) alpha of ratings (units, raters), NaN where a rater gave none: 1 - D_o / D_e.

    A unit of m >= 2 ratings adds 1 / (m - 1) to the cell of each ordered pair of them; n_v: sum of the cells of value v, n of
    all. D_o = sum of o_vw d(v, w) / n, D_e = sum of n_v n_w d(v, w) / (n (n - 1)). d = (v - w)^2, the
    interval scale's. clusters: (units,) as in `weighted_kappa`.
    Raises NotEnough where no unit has two ratings, and for more than `MOST_VALUES` different ones.
    Checked against the worked example of Krippendorff 2011 and NLTK's.

    >>> krippendorff_alpha([[1, 1], [2, 2], [3, 3]]).value, krippendorff_alpha([[0, 1], [1, 0]]).value
    (1.0, -0.5)
    """
    table = np.asarray(ratings, dtype=np.float64)
    kept = np.flatnonzero((~np.isnan(table)).sum(axis=1) >= 2)
    if not len(kept):
        raise NotEnough("No answer has two grades.", "Let two people grade the same answers.")
    table = table[kept]
    values = np.unique(table[~np.isnan(table)])
    if len(values) > MOST_VALUES:
        raise NotEnough(
            f"There are {len(values):,} different grades, which is too many for a table of pairs.",
            f"Use a rubric with at most {MOST_VALUES} grades.",
        )
    # (units, values): how many raters gave it
    counts = (table[:, :, None] == values).sum(axis=1).astype(np.float64)
    distance = np.subtract.outer(values, values) ** 2

    def alpha(rows: Bools) -> float:
        some = counts[rows]
        weight = 1 / (some.sum(axis=1) - 1)
        pairs = (some * weight[:, None]).T @ some - np.diag(weight @ some)
        n_of = pairs.sum(axis=1)
        return _beyond(
            float((pairs * distance).sum()), float(n_of @ distance @ n_of) / (float(n_of.sum()) - 1)
        )

    value = alpha(np.ones(len(kept), dtype=bool))
    groups = groups_of(kept if clusters is None else np.asarray(clusters)[kept])
    interval = correlation_interval(value, groups, alpha)
    return Agreement(value, len(kept), interval, ALPHA)


def _beyond(observed: float, expected: float) -> float:
    return 1 - observed / expected if expected > 0 else np.nan


def _places(
    a: Sequence[Hashable], b: Sequence[Hashable], categories: Sequence[Hashable]
) -> tuple[Ints, Ints, Ints]:
    """Places in `categories` of the units that both graded, and which units these are."""
    place = {category: n for n, category in enumerate(categories)}
    both = [
        (n, x, y)
        for n, (x, y) in enumerate(zip(a, b, strict=True))
        if not (_is_missing(x) or _is_missing(y))
    ]
    if unknown := {grade for _, x, y in both for grade in (x, y)} - set(place):
        raise ValueError(f"No category: {', '.join(sorted(map(str, unknown)))}.")
    found = np.asarray([(place[x], place[y], n) for n, x, y in both], dtype=np.int64)
    first, second, kept = found.reshape(-1, 3).T
    return first, second, kept


def _is_missing(grade: Hashable) -> bool:
    return grade is None or (isinstance(grade, float) and np.isnan(grade))
