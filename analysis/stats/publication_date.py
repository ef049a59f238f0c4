"""Are older studies easier for a model? Then it may have read about them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.estimates import spearman

METHOD = (
    "Spearman's rank correlation of publication date (days) and item difficulty, PPL(altered) - PPL(original), ties at "
    "their mean rank; 95% interval from Fisher's z. Items without a date are left out."
)


@dataclass(frozen=True)
class DateCorrelation:
    """Of `date_correlation`: n items, of n_unique_dates dates."""

    rho: float
    p: float
    n: int
    ci95: tuple[float, float] | None
    n_unique_dates: int
    method: str = METHOD


def date_correlation(
    dates: npt.NDArray[np.datetime64], difficulty: npt.ArrayLike
) -> DateCorrelation:
    """Dates (n,), NaT unknown, and difficulties (n,), NaN not scored: rank correlation; rho < 0: older is easier.

    Raises NotEnough below three items that have both.

    >>> days = np.array(["2023-01-09", "2023-01-10", "2023-02-01", "NaT"], dtype="datetime64[D]")
    >>> date_correlation(days, [3.0, 2.0, 1.0, 9.0]).rho
    -1.0
    """
    known = ~np.isnat(dates)
    days = np.where(known, dates.astype("datetime64[D]").astype(np.int64), np.nan)
    values = np.asarray(difficulty, dtype=np.float64)
    found = spearman(days, values)
    used = days[known & ~np.isnan(values)]
    return DateCorrelation(found.rho, found.p, found.n, found.ci95, len(np.unique(used)))
