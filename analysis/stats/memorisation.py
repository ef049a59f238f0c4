"""How much a model may know texts by heart: compressed length over perplexity, text by text."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from analysis.stats.arrays import Bools, Floats


@dataclass(frozen=True)
class Sides:
    """(items,) of `by_cutoff`: each item is in one of the three."""

    before: Bools
    after: Bools
    undated: Bools


def by_cutoff(dates: npt.NDArray[np.datetime64], cutoff: np.datetime64) -> Sides:
    """Sides of a cut-off: items published on its day or earlier, and those after it; dates (items,), NaT unknown.

    >>> sides = by_cutoff(np.array(["2022-01-01", "2022-01-02", "NaT"], "M8[D]"), np.datetime64("2022-01-01"))
    >>> sides.before.tolist(), sides.after.tolist(), sides.undated.tolist()
    ([True, False, False], [False, True, False], [False, False, True])
    """
    return Sides(dates <= cutoff, dates > cutoff, np.isnat(dates))


def ratios(zlib_bytes: npt.ArrayLike, ppl: npt.ArrayLike) -> Floats:
    """Compressed length in bytes over perplexity, elementwise (the paper's equation 3); high: known by heart.

    >>> ratios([700, 300], [2.0, 10.0]).tolist()
    [350.0, 30.0]
    """
    return np.asarray(zlib_bytes, dtype=np.float64) / np.asarray(ppl, dtype=np.float64)


def auc(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Probability that a value of x (n,) is above one of y (m,), ties count half: Mann and Whitney's U / (n m).

    >>> auc([1, 3], [0, 2]), auc([1], [1])
    (0.75, 0.5)
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    u = scipy.stats.mannwhitneyu(first, second, method="asymptotic").statistic
    return float(u / (len(first) * len(second)))
