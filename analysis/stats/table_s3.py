"""The paper's Table S3, as it was made: five penalised logistic fits to overlapping subsamples, in one random stream."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats import MissingResult
from analysis.stats.calibration import SAME, scored

N_DRAWS, SHARE = 5, 0.8
MIN_N = 20  # five draws of fewer are all but the same
ONE_KIND = (
    "A draw contained only correct or only wrong judgments, so there is nothing to fit.",
    "Collect more judgments.",
)
NOTE = (
    "As in Table S3 of the BrainBench paper: one stream of random numbers (NumPy's legacy generator) for all rows in this "
    "order; five draws of 80% without replacement; logistic regression with an L2 penalty (C = 1) on the unscaled "
    "score; mean and standard error (n-1) of five coefficients and their two-sided t against 0. These values are "
    "only for comparison: the five samples overlap, so this t is not a valid test, and the penalty shrinks the "
    "models' coefficients by a factor of two to seven that depends on the score's unit. The fit to all judgments "
    "without penalty and its Wald test are also given."
)


@dataclass(frozen=True)
class TableRow:
    """One group of `table_s3`: coefficients in log-odds per unit of score, and their t with df degrees of freedom."""

    n: int
    coefs: tuple[float, ...]
    intercepts: tuple[float, ...]
    coef_mean: float
    coef_sem: float
    intercept_mean: float
    intercept_sem: float
    t: float
    df: int
    p: float


def table_s3(
    groups: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]], seed: int = 42
) -> list[TableRow | MissingResult]:
    """One row per group (score (n,), is_correct (n,)), in order, or why there is none: fewer than 20 judgements, one score, or a draw of one outcome.

    For each group in turn five times: int(0.8 n) rows without replacement from RandomState(seed), one stream for all, so
    a group's row depends on the groups before it; sklearn's LogisticRegression(C=1), solver lbfgs, whose early stop
    moves a coefficient by up to 0.006. coef_sem = sd(ddof=1) / sqrt(5); t = coef_mean / coef_sem with 4 degrees of
    freedom, p two-sided. Judgements with a NaN are left out.

    >>> scores, correct = [0.0, 1.0] * 20, [False, True, True, True] * 10
    >>> row, nothing = table_s3([(scores, correct), (scores, [True] * 40)])
    >>> len(row.coefs), row.coef_mean > 0, nothing.needed
    (5, True, 'Collect more judgments.')
    """
    stream = np.random.RandomState(seed)
    rows: list[TableRow | MissingResult] = []
    for score, is_correct in groups:
        values, right = scored(score, is_correct)
        n = len(values)
        draws = [
            stream.choice(n, int(SHARE * n), replace=False) for _ in range(N_DRAWS if n else 0)
        ]
        rows.append(_row(values, right, draws))
    return rows


def _row(
    values: npt.NDArray[np.float64],
    right: npt.NDArray[np.float64],
    draws: list[npt.NDArray[np.int64]],
) -> TableRow | MissingResult:
    if len(values) < MIN_N:
        return MissingResult(
            f"There are fewer than {MIN_N} judgments with a confidence.", "Collect more judgments."
        )
    if np.ptp(values) == 0:
        return MissingResult(*SAME)
    if any(len(np.unique(right[draw])) < 2 for draw in draws):
        return MissingResult(*ONE_KIND)
    # Here: it takes longer to load than all other estimators together
    from sklearn.linear_model import LogisticRegression

    fits = [
        LogisticRegression(C=1.0).fit(values[draw, None], right[draw].astype(np.int64))
        for draw in draws
    ]
    coefs = np.array([fit.coef_[0, 0] for fit in fits])
    intercepts = np.array([fit.intercept_[0] for fit in fits])
    coef_sem, intercept_sem = (float(x.std(ddof=1) / np.sqrt(N_DRAWS)) for x in (coefs, intercepts))
    t = float(coefs.mean() / coef_sem) if coef_sem > 0 else np.nan
    return TableRow(
        n=len(values),
        coefs=tuple(coefs.tolist()),
        intercepts=tuple(intercepts.tolist()),
        coef_mean=float(coefs.mean()),
        coef_sem=coef_sem,
        intercept_mean=float(intercepts.mean()),
        intercept_sem=intercept_sem,
        t=t,
        df=N_DRAWS - 1,
        p=2 * float(special.stdtr(N_DRAWS - 1, -abs(t))),
    )
