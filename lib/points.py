"""Points of a decision between two versions: 1 if right, 0 if wrong, and 1/2 for a tie, here and nowhere else.

A tie is half, because that is what a guess between the two versions is worth on average. So an accuracy does not depend
on who breaks ties, and a member of a team gains nothing from having its ties broken by chance.
"""

import math

import numpy as np
import numpy.typing as npt

RIGHT, TIE, WRONG = 1.0, 0.5, 0.0


def points(towards: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """1 where the preference for the original (any shape, any unit) is above 0, 0 where it is below, 1/2 where it is 0.

    NaN, no decision, stays NaN.

    >>> points([0.3, -2.0, 0.0, np.nan]).tolist()
    [1.0, 0.0, 0.5, nan]
    """
    return np.asarray((np.sign(np.asarray(towards, dtype=np.float64)) + 1) / 2)


def point(towards: float) -> float:
    """`points` of one decision.

    >>> point(0.3), point(-2.0), point(0.0)
    (1.0, 0.0, 0.5)
    """
    return float(points(towards))


def mean_point(n_right: float, n: float, n_ties: float = 0) -> float:
    """Accuracy of n decisions, n_right of them right and n_ties tied; NaN without any.

    >>> mean_point(1, 4, n_ties=2)
    0.5
    """
    return (RIGHT * n_right + TIE * n_ties) / n if n else math.nan


def error_of_mean(n_right: float, n: float, n_ties: float = 0) -> float:
    """Standard error of `mean_point`: the points' standard deviation (with n) over sqrt(n); without ties sqrt(p (1 - p) / n).

    >>> error_of_mean(2, 4), error_of_mean(0, 4, n_ties=4)
    (0.25, 0.0)
    """
    if not n:
        return math.nan
    mean = mean_point(n_right, n, n_ties)
    return math.sqrt(max(0.0, mean * (1 - mean) - TIE**2 * n_ties / n) / n)
