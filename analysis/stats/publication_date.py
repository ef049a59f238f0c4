"""Are older studies easier for a model? Then it may have read about them."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
import scipy

from analysis.stats.arrays import Floats
from analysis.stats.estimates import spearman
from analysis.stats.verdicts import Verdict

METHOD = (
    "Spearman's rank correlation of publication date (days) and difficulty, PPL(altered) - PPL(original), with "
    "ties at their mean rank; 95% interval from Fisher's z with the standard error of Bonett and Wright (2000). Test cases without a date are left out."
)


class DateDirection(Enum):
    """Direction of difficulty over dates; no clear direction where p is not below .05."""

    NEWER_EASIER = "newer_easier"
    NEWER_HARDER = "newer_harder"
    UNCLEAR = "no_clear_direction"
    TOO_FEW = "too_few_to_say"

    @classmethod
    def of(cls, ease: Verdict) -> "DateDirection":
        """Where `ease` is that of a correlation with ease, or of accuracy, over the date.

        >>> DateDirection.of(Verdict.BELOW)
        <DateDirection.NEWER_HARDER: 'newer_harder'>
        """
        return DIRECTIONS[ease]


DIRECTIONS = {
    Verdict.ABOVE: DateDirection.NEWER_EASIER,
    Verdict.BELOW: DateDirection.NEWER_HARDER,
    Verdict.UNCLEAR: DateDirection.UNCLEAR,
    Verdict.TOO_FEW: DateDirection.TOO_FEW,
}


@dataclass(frozen=True)
class DateCorrelation:
    """Result of `date_correlation`: n items, of n_unique_dates dates."""

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


def date_influence(dates: npt.NDArray[np.datetime64], difficulty: npt.ArrayLike) -> Floats:
    """(n,) what each item adds to the error of `date_correlation`, to first order; 0 for those left out.

    With x and y the standardised ranks: x y - rho (x^2 + y^2) / 2, over n.
    """
    values = np.asarray(difficulty, dtype=np.float64)
    used = ~np.isnat(dates) & ~np.isnan(values)
    ranks = [
        scipy.stats.rankdata(v[used]) for v in (dates.astype("datetime64[D]").astype(int), values)
    ]
    x, y = ((r - r.mean()) / r.std() for r in ranks)
    influence = np.zeros(len(values))
    influence[used] = (x * y - (x * y).mean() * (x**2 + y**2) / 2) / used.sum()
    return influence
