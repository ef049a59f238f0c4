"""Points as a rubric could have given them: judges are free to write any number."""

import numpy as np
import numpy.typing as npt

from analysis.stats.arrays import Floats
from scoring.domain.grading.rubric import TOLERANCE, Rubric


def on_scale(points: npt.ArrayLike, rubric: Rubric) -> Floats:
    """Points of any shape, clipped to 0 and the rubric's most points; an abstention stays one, NaN stays NaN.

    >>> from scoring.domain.grading.rubric import BIOSCORE
    >>> on_scale([-30, -1, 2.7, 9], BIOSCORE).tolist()
    [0.0, -1.0, 2.7, 3.0]
    """
    given = np.asarray(points, dtype=np.float64)
    abstention = rubric.abstention or 0.0
    return np.where(_abstains(given, rubric), abstention, given.clip(0, rubric.top))


def said(points: npt.ArrayLike, rubric: Rubric) -> Floats:
    """`on_scale` of answers that say something; NaN of those that abstain.

    >>> from scoring.domain.grading.rubric import BIOSCORE
    >>> said([-1, -0.5, 1.5], BIOSCORE).tolist()
    [nan, 0.0, 1.5]
    """
    given = np.asarray(points, dtype=np.float64)
    return np.where(_abstains(given, rubric), np.nan, given.clip(0, rubric.top))


def on_rubric(points: Floats, rubric: Rubric) -> Floats:
    """(n,) the nearest of the rubric's grades, of two as near the lower; an abstention stays one. No NaN.

    >>> from scoring.domain.grading.rubric import BIOSCORE
    >>> on_rubric(np.array([2.3, -0.6]), BIOSCORE).tolist()
    [2.5, 0.0]
    """
    graded = np.array([value for value in rubric.values if value != rubric.abstention])
    nearest = graded[np.abs(points[:, None] - graded).argmin(axis=1)]
    return np.where(_abstains(points, rubric), rubric.abstention or 0.0, nearest)


def _abstains(points: Floats, rubric: Rubric) -> npt.NDArray[np.bool_]:
    if rubric.abstention is None:
        return np.zeros(points.shape, dtype=bool)
    return np.abs(points - rubric.abstention) < TOLERANCE
