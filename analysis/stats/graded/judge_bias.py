"""Is a judge kinder than people to long answers, or to models of its own family?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from analysis.stats import MissingResult, NotEnough
from analysis.stats.arrays import Floats, Interval, Ints, with_width
from analysis.stats.cr2 import Fitted, slopes
from analysis.stats.families import holm
from analysis.stats.graded.ratios import FEWEST_CLUSTERS
from analysis.stats.verdicts import CHAPTER, HOLM, OF_TEMPLATES, Concludes, Verdict

CLUSTERS = (
    "Standard error robust to clusters and corrected for their leverage (CR2); two-sided p and 95% interval from Student's t "
    "with Satterthwaite's degrees of freedom, which are few where few templates determine the estimate."
)
BY_LENGTH = (
    "Least squares of the judge's minus people's points on the answer's log2 length, with a separate level for "
    f"each judge. {CLUSTERS}"
)
OWN_FAMILY = (
    "Difference in differences: the judge's minus people's points, for answers by the judge's own family minus "
    f"those by others, with a separate level for each family of judges and of answers. {CLUSTERS}"
)


@dataclass(frozen=True)
class Bias:
    """estimate: in points of the rubric; n: grades. ci95 None, and p NaN, where length or family tells every difference exactly.

    p_holm: over both questions of a judge, where both can be asked.
    """

    estimate: float
    se: float
    df: float
    ci95: Interval | None
    p: float
    n: int
    n_clusters: int
    method: str
    p_holm: float = math.nan
    verdict: Annotated[
        Verdict,
        Concludes(
            "whether a judge's points differ from people's with an answer's length, or for its own family",
            CHAPTER,
            HOLM,
            OF_TEMPLATES,
        ),
    ] = Verdict.TOO_FEW


def corrected(biases: Sequence[Bias | MissingResult]) -> list[Bias | MissingResult]:
    """With p values after Holm's correction over all of them that have one, and the verdicts."""
    found = list(biases)
    tests = {
        n: one for n, one in enumerate(found) if isinstance(one, Bias) and math.isfinite(one.p)
    }
    after = holm(np.array([one.p for one in tests.values()]))
    for (n, one), p in zip(tests.items(), after.tolist(), strict=True):
        verdict = Verdict.of(one.estimate, p, one.n_clusters)
        found[n] = replace(one, p_holm=p, verdict=verdict)
    return found


def bias_by_length(
    judge_less_human: npt.ArrayLike,
    lengths: npt.ArrayLike,
    clusters: Ints,
    judges: Ints | None = None,
) -> Bias:
    """How many points more a judge gives, beside people, for each doubling of an answer's length.

    judge_less_human: (n,) in points, NaN left out; lengths: (n,) of answers, in words or tokens, below 1 taken as 1;
    clusters: (n,); judges: (n,) who gave the points, none: one judge. The slope of least squares on log2 of the length, with a
    level for each judge: a mild one that was given the long answers is no preference for them. Raises NotEnough below three
    clusters, or where no judge graded answers of several lengths.

    >>> bias_by_length([0, 0.5, 1, 1.5], [1, 2, 4, 8], np.arange(4)).estimate.__round__(9)
    0.5
    """
    y, length = np.asarray(judge_less_human, float), np.asarray(lengths, float)
    known = np.isfinite(y) & np.isfinite(length)
    x = np.log2(np.maximum(length[known], 1.0))
    who = np.zeros(len(y), dtype=np.int64) if judges is None else np.asarray(judges)
    design = np.column_stack([np.ones(len(x)), _dummies(who[known]), x])
    if not len(x) or np.linalg.matrix_rank(design) < design.shape[1]:
        raise NotEnough("All answers have the same length.", "Grade answers of several lengths.")
    return _last_coefficient(y[known], design, np.asarray(clusters)[known], BY_LENGTH)


def own_family_bias(
    judge_less_human: npt.ArrayLike,
    judge_families: Sequence[str],
    answer_families: Sequence[str],
    clusters: Ints,
) -> Bias:
    """How many points more judges give, beside people, to answers of their own family than to others'.

    judge_less_human: (n,) in points, NaN left out; families: (n,) of the judge and of the model that answered; clusters:
    (n,). One family of judges: mean over its own less mean over others. Several: least squares with a level for each
    family of judges and each of answers, so that neither a mild judge nor a family that judges like counts as a preference; in
    the 2 by 2 case ((A on A) - (A on B) - (B on A) + (B on B)) / 2. Raises NotEnough below three clusters, and where the data
    cannot tell a preference from these levels.

    >>> own_family_bias([1, 1, 0, 0], ["a"] * 4, ["a", "a", "b", "b"], np.arange(4)).estimate.__round__(9)
    1.0
    """
    y = np.asarray(judge_less_human, float)
    known = np.isfinite(y)
    judge, answer = np.asarray(judge_families)[known], np.asarray(answer_families)[known]
    own = (judge == answer).astype(np.float64)
    levels = [np.ones((len(own), 1)), _dummies(judge)]
    if len(np.unique(judge)) > 1:
        levels.append(_dummies(answer))
    design = np.column_stack([*levels, own])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise NotEnough(
            "A preference for the own family cannot be separated from general differences between judges and answers.",
            "Let a judge grade answers of models from its family and from other families.",
        )
    return _last_coefficient(y[known], design, np.asarray(clusters)[known], OWN_FAMILY)


def _dummies(names: npt.NDArray[Any]) -> Floats:
    """(n, levels - 1): the first level is what others are measured from."""
    found: Floats = (names[:, None] == np.unique(names)[1:]).astype(np.float64)
    return found


def _last_coefficient(y: Floats, design: Floats, clusters: Ints, method: str) -> Bias:
    """Least squares of y (n,) on the design (n, k), with errors of `cr2.slopes` over clusters (n,)."""
    place = np.unique(clusters, return_inverse=True)[1]
    (n, k), n_clusters = design.shape, int(place.max()) + 1
    if n_clusters < FEWEST_CLUSTERS or n <= k:
        raise NotEnough(
            f"Only answers of {n_clusters} templates or questions have both grades.",
            "Grade answers of at least three.",
        )
    if not np.ptp(y):
        raise NotEnough(
            "Judges and people differ by the same number of points on every answer, which does not tell how they differ on others.",
            "Let people grade more answers.",
        )
    coefficients = np.linalg.solve(design.T @ design, design.T @ y).astype(np.float64)
    fit = Fitted.of(design, coefficients, np.ones(n), y - design @ coefficients)
    found = slopes(fit, (place,))[-1]
    ci95 = with_width(*found.ci95)
    return Bias(found.estimate, found.se, found.df, ci95, found.p, n, n_clusters, method)
