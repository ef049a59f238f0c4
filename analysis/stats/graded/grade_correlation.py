"""How well a number that is cheap to compute, as the overlap of words, says what a grade says."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Interval, Ints
from analysis.stats.graded.jackknife import INTERVAL, correlation_interval, groups_of

FEWEST = 3
MOST_GRADES = 200  # different ones
METHOD = f"Spearman's rho (mean ranks) and Kendall's tau-b over answers, each with a {INTERVAL}."


@dataclass(frozen=True)
class GradeCorrelation:
    """Result of `grade_correlation`; NaN where one side does not vary."""

    n: int
    rho: float
    rho_ci95: Interval | None
    tau: float
    tau_ci95: Interval | None
    method: str = METHOD


def grade_correlation(
    metric: npt.ArrayLike, points: npt.ArrayLike, clusters: Ints
) -> GradeCorrelation:
    """Spearman's rho and Kendall's (1945) tau-b of a metric and points, both (n,); rows with a NaN are left out.

    Both come from the table of values, since grades have few: tau-b = (C - D) / sqrt((P - X) (P - Y)) of P pairs, C in the same
    and D in the other order, X and Y tied. clusters: (n,) rows that are alike. Raises NotEnough below three rows, and for
    more than `MOST_GRADES` different points. Checked against SciPy's.

    >>> found = grade_correlation([0.1, 0.2, 0.3, 0.4], [0, 1, 2, 3], np.arange(4))
    >>> found.rho, found.tau
    (1.0, 1.0)
    """
    x, y = np.asarray(metric, dtype=np.float64), np.asarray(points, dtype=np.float64)
    known = np.isfinite(x) & np.isfinite(y)
    if known.sum() < FEWEST:
        raise NotEnough("Fewer than three answers have both numbers.", "Grade more answers.")
    values, column = np.unique(y[known], return_inverse=True)
    if len(values) > MOST_GRADES:
        raise NotEnough(
            f"There are {len(values):,} different grades, which is too many for a table.",
            f"Use a rubric with at most {MOST_GRADES} grades.",
        )
    row = np.unique(x[known], return_inverse=True)[1]
    shape = (int(row.max()) + 1, len(values))
    cells = row * len(values) + column

    def table(rows: Bools) -> Floats:
        counts = np.bincount(cells[rows], minlength=shape[0] * shape[1])
        return counts.reshape(shape).astype(np.float64)

    every, groups = np.ones(len(cells), dtype=bool), groups_of(np.asarray(clusters)[known])
    rho, tau = _rho(table(every)), _tau(table(every))
    return GradeCorrelation(
        len(cells),
        rho,
        correlation_interval(rho, groups, lambda rows: _rho(table(rows))),
        tau,
        correlation_interval(tau, groups, lambda rows: _tau(table(rows))),
    )


def _rho(table: Floats) -> float:
    """Pearson's r of mean ranks, from a table of counts (values of x, values of y)."""
    by_x, by_y = table.sum(axis=1), table.sum(axis=0)
    n = by_x.sum()
    x, y = (np.cumsum(by) - by / 2 - n / 2 for by in (by_x, by_y))
    size = float(np.sqrt((by_x @ x**2) * (by_y @ y**2)))
    return min(1.0, max(-1.0, float(x @ table @ y) / size)) if size > 0 else np.nan


def _tau(table: Floats) -> float:
    before = np.cumsum(table, axis=0) - table  # smaller x, by y
    smaller = np.cumsum(before, axis=1) - before  # and smaller y
    larger = before.sum(axis=1, keepdims=True) - smaller - before
    by_x, by_y = table.sum(axis=1), table.sum(axis=0)
    n = by_x.sum()
    pairs, *tied = (float((by * (by - 1)).sum()) / 2 for by in (np.array([n]), by_x, by_y))
    size = float(np.sqrt((pairs - tied[0]) * (pairs - tied[1])))
    return float((table * (smaller - larger)).sum()) / size if size > 0 else np.nan
