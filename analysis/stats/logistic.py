"""Logistic regression of correctness on one score, by maximum likelihood without penalty, and its held-out predictions."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Interval, Ints
from analysis.stats.calibration import SAME, scored
from analysis.stats.cr2 import Fitted
from analysis.stats.estimates import Z95
from analysis.stats.newton import NotConverged, minimise

LOGISTIC = (
    "log-odds of being correct = intercept + slope x score, over all judgments, by maximum likelihood without "
    "penalty; two-sided Wald test of the slope and Wald 95% interval, treating judgments as independent."
)
N_FOLDS, LEAVE_ONE_OUT_UP_TO = 20, 2000
TOLERANCE, SINGULAR = 1e-9, 1e-13


@dataclass(frozen=True)
class Logistic:
    """Result of `logistic`: intercept in log-odds, slope in log-odds per unit of score."""

    n: int
    intercept: float
    intercept_se: float
    slope: float
    slope_se: float
    slope_ci95: Interval
    z: float
    p: float
    method: str = LOGISTIC


def logistic(score: npt.ArrayLike, is_correct: npt.ArrayLike) -> Logistic:
    """Fit P(correct) = 1 / (1 + exp(-(intercept + slope score))) to score (n,), is_correct (n,); NaN left out.

    The slope is in log-odds per unit of score. z = slope / se; p two-sided normal; the interval is slope -+ 1.96 se. Both take
    judgements as independent: `analysis.stats.trial_slope` does not.
    Raises NotEnough when the fit does not exist: one outcome only, or a cut of the score that separates the outcomes.
    Checked against statsmodels' Logit. The fit is that of `held_out_probability`, which refits 2,000
    judgements 2,000 times in half of Logit's time.

    >>> fit = logistic([0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 1, 1])
    >>> round(fit.intercept, 6), round(fit.slope, 6)  # log(1/2), log(2/1) - log(1/2)
    (-0.693147, 1.386294)
    """
    values, right = scored(score, is_correct)
    fit = fit_slope(values, right)
    return Logistic(
        n=len(values),
        intercept=fit.intercept,
        intercept_se=fit.intercept_se,
        slope=fit.slope,
        slope_se=fit.slope_se,
        slope_ci95=wald(fit.slope, fit.slope_se),
        z=fit.slope / fit.slope_se,
        p=two_sided(fit.slope / fit.slope_se),
    )


@dataclass(frozen=True)
class SlopeFit:
    """Result of `fit_slope`: log-odds, with standard errors of independent judgements."""

    intercept_se: float
    slope_se: float
    fitted: Fitted

    @property
    def intercept(self) -> float:
        return float(self.fitted.coefficients[0])

    @property
    def slope(self) -> float:
        return float(self.fitted.coefficients[1])

    @property
    def influence(self) -> Floats:
        """(n,) what each judgement adds to the slope's error, to first order."""
        return self.fitted.influence[:, 1]


def fit_slope(values: Floats, right: Floats) -> SlopeFit:
    """The fit of `logistic` to values (n,) and right (n,) of 0 and 1, all known.

    Raises NotEnough as `logistic` does.
    """
    _need_overlap(values, right)
    centre, scale = float(values.mean()), float(values.std())
    x = (values - centre) / scale
    beta = _fit(x, right, np.ones((1, len(x))), np.zeros((1, 2)))[0]
    design = np.column_stack([np.ones_like(x), x])
    fitted = special.expit(design @ beta)
    weight = fitted * (1 - fitted)
    back = np.array([[1, -centre / scale], [0, 1 / scale]])
    covariance = back @ np.linalg.inv(design.T * weight @ design) @ back.T
    scaled = Fitted.of(design, beta, weight, right - fitted)
    own = replace(scaled, coefficients=back @ beta, contrasts=back @ scaled.contrasts)
    intercept_se, slope_se = np.sqrt(np.diag(covariance)).tolist()
    return SlopeFit(intercept_se, slope_se, own)


def held_out_probability(
    score: npt.ArrayLike, is_correct: npt.ArrayLike, seed: int = 42
) -> tuple[Floats, Floats, str]:
    """(probability, correct, what was left out): each judgement predicted by `logistic` fitted without it.

    score and is_correct (n,); NaN left out. Leave-one-out up to 2,000 judgements, beyond that 20 folds drawn with `seed`.
    Raises NotEnough when the fit does not exist, with everything or with a fold left out.

    >>> p, right, rule = held_out_probability([0, 0, 0, 1, 1, 1] * 9, [0, 0, 1, 0, 1, 1] * 9)
    >>> bool(np.isclose(p[0], 9 / 26)), rule  # without the first: 9 of 26 right at score 0
    (True, 'leave one out')
    """
    values, right = scored(score, is_correct)
    _need_overlap(values, right)
    n = len(values)
    x = (values - values.mean()) / values.std()
    start = _fit(x, right, np.ones((1, n)), np.zeros((1, 2)))
    if n <= LEAVE_ONE_OUT_UP_TO:
        fold, rule = np.arange(n), "leave one out"
    else:
        fold, rule = np.arange(n) % N_FOLDS, f"{N_FOLDS} folds, seed {seed}"
        np.random.default_rng(seed).shuffle(fold)
    predicted = np.empty(n)
    folds = np.arange(fold.max() + 1)
    for some in np.array_split(folds, int(np.ceil(len(folds) * n / 1e6))):
        weight = (fold != some[:, None]).astype(float)
        betas = _fit(x, right, weight, np.repeat(start, len(some), axis=0))
        rows = np.flatnonzero(np.isin(fold, some))
        mine = betas[np.searchsorted(some, fold[rows])]
        predicted[rows] = special.expit(mine[:, 0] + mine[:, 1] * x[rows])
    return predicted, right, rule


def _need_overlap(values: Floats, right: Floats) -> None:
    """With one score the fit exists exactly if neither outcome's scores lie all on one side of the other's."""
    yes, no = values[right > 0], values[right == 0]
    if not len(yes) or not len(no):
        raise NotEnough(
            "A logistic fit needs both correct and wrong judgments.",
            "Collect more judgments.",
        )
    if np.ptp(values) == 0:
        raise NotEnough(*SAME)
    if no.max() <= yes.min() or yes.max() <= no.min():
        raise NotEnough(
            (
                "A single threshold of the score separates correct from wrong judgments, so the slope of the logistic fit is "
                "not finite."
            ),
            "Collect more judgments.",
        )


def _fit(x: Floats, right: Floats, weight: Floats, start: Floats) -> Floats:
    """Maximum-likelihood (intercept, slope) for every row of weights: weight (fits, n), start and result (fits, 2)."""
    try:
        return minimise(_Fits(x, right, weight), start).at
    except NotConverged as error:
        raise NotEnough(
            "Too few judgments are correct, or too few are wrong, for a stable slope of the logistic fit.",
            "Collect more judgments.",
        ) from error


@dataclass(frozen=True)
class _Fits:
    """newton.Problem of logistic regressions on one score that differ in their weights."""

    x: Floats
    right: Floats
    weight: Floats

    def loss(self, at: Floats, fits: Ints) -> tuple[Floats, Floats]:
        log_odds = at[:, :1] + at[:, 1:] * self.x
        # log(1 + exp(log-odds)), in a third of logaddexp's time
        misfit = (
            np.log1p(np.exp(-np.abs(log_odds))) + np.maximum(log_odds, 0) - self.right * log_odds
        )
        return np.einsum("fn,fn->f", self._weights(fits), misfit), log_odds

    def step(self, at: Floats, state: Floats, loss: Floats, fits: Ints) -> tuple[Floats, Bools]:
        x, weight, fitted = self.x, self._weights(fits), special.expit(state)
        miss, info = weight * (self.right - fitted), weight * fitted * (1 - fitted)
        g0, g1 = miss.sum(axis=1), miss @ x
        h00, h01, h11 = info.sum(axis=1), info @ x, info @ (x * x)
        determinant = h00 * h11 - h01**2
        if not (determinant > SINGULAR * h00 * h11).all():
            raise NotConverged("A likelihood has become flat.")
        # In closed form
        step = np.column_stack([h01 * g1 - h11 * g0, h01 * g0 - h00 * g1]) / determinant[:, None]
        size, largest = np.abs(step).max(axis=1), np.abs(at).max(axis=1)
        # The error is then of the order of the last step's square
        return step, size < TOLERANCE * np.maximum(1.0, largest)

    def _weights(self, fits: Ints) -> Floats:
        return self.weight if len(fits) == len(self.weight) else self.weight[fits]


def wald(slope: float, se: float) -> Interval:
    """The 95% interval slope -+ 1.96 se."""
    return float(slope - Z95 * se), float(slope + Z95 * se)


def two_sided(z: float) -> float:
    """p of a standard normal z."""
    return float(2 * special.ndtr(-abs(z)))
