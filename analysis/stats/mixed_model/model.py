"""Logistic mixed model with crossed random intercepts of participants and items, by maximum likelihood.

Up to 20,000 trials the likelihood is integrated by adaptive quadrature (`quadrature`), exact but for its nodes where either factor does not
vary. Beyond, and where an effect knows no bounds, it is the Laplace approximation, as `glmer` of R's lme4 takes by default (nAGQ = 1; Bates et al. 2015, J. Stat.
Softw. 67(1)), which with few trials per level pulls standard deviations towards 0. lme4's own quadrature knows one factor only,
and so do statsmodels' likelihood methods.
"""

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Interval, Ints
from analysis.stats.estimates import Z95
from analysis.stats.mixed_model.laplace import LaplaceLikelihood
from analysis.stats.mixed_model.one_factor import OneFactor
from analysis.stats.mixed_model.optimum import (
    ITEMS,
    PARTICIPANTS,
    LogLikelihood,
    Optimum,
    covariance_of,
    find_optimum,
    optimum_given,
    profile_limit,
)
from analysis.stats.mixed_model.quadrature import QuadratureLikelihood, TooFewNodes
from analysis.stats.trial_model import separating

# Trials. Quadrature takes 5 to 15 times as long as Laplace, half a minute at this many
MOST_FOR_QUADRATURE = 20_000
# Beyond, Wald and profile intervals agree, and profiles take minutes
MOST_FOR_PROFILES = 50_000
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS /= WEIGHTS.sum()

METHOD = (
    "Logistic regression with crossed random intercepts of participants and test cases, by maximum likelihood with "
    "{integral}; coefficients with Wald intervals; standard deviations (log-odds) {sd}."
)
PROFILE = "with profile likelihood intervals"
WALD = "with Wald intervals on the log scale"
HELD = "fixed at those of the model without covariates"


class Integral(Enum):
    """How the effects are integrated out of the likelihood."""

    QUADRATURE = "quadrature"
    LAPLACE = "laplace"


INTEGRALS = {
    Integral.QUADRATURE: "adaptive Gauss-Hermite quadrature (exact but for its nodes if either factor does not vary)",
    Integral.LAPLACE: "the Laplace approximation",
}


@dataclass(frozen=True)
class Coefficient:
    """A fixed effect in log-odds: Wald's standard error, 95% interval and two-sided p (z test)."""

    estimate: float
    se: float
    ci95: Interval
    p: float


@dataclass(frozen=True)
class Without:
    """The model without one factor's effects: intercept and the other factor's standard deviation in log-odds."""

    intercept: float
    sd_other: float
    log_likelihood: float


@dataclass(frozen=True)
class Deviation:
    """Standard deviation of random intercepts in log-odds. `statistic` = twice the log-likelihood ratio against the model
    `without` them, `p` = half the tail of chi-square(1), as 0 is on the boundary (Self and Liang 1987, J. Am. Stat. Assoc.
    82). ci95 None: not computed (Wald at 0, or held); without None: held."""

    estimate: float
    ci95: Interval | None
    statistic: float
    p: float
    without: Without | None = None


@dataclass(frozen=True)
class MixedModel:
    """Result of `fit`: log-odds, log-likelihood in nats, accuracies from 0 to 1."""

    n_trials: int
    n_participants: int
    n_items: int
    coefficients: tuple[Coefficient, ...]
    participants: Deviation
    items: Deviation
    log_likelihood: float
    converged: bool
    integral: Integral
    method: str
    # Where all covariates but the first are 0: of a person and an item in the middle; and over all persons and items
    accuracy_typical: float
    accuracy_typical_ci95: Interval
    accuracy_marginal: float
    accuracy_marginal_ci95: Interval


def marginal_accuracy(intercept: float, sd: float) -> float:
    """E expit(intercept + sd z), z ~ N(0, 1), by Gauss-Hermite quadrature with 60 nodes.

    `sd` is that of the sum of all random effects, sqrt(sd_participants^2 + sd_items^2).

    >>> round(marginal_accuracy(0.0, 2.0), 12)
    0.5
    """
    return float(WEIGHTS @ special.expit(intercept + sd * NODES))


def fit(
    is_correct: npt.ArrayLike,
    participant: npt.ArrayLike,
    item: npt.ArrayLike,
    covariates: npt.ArrayLike | None = None,
    sds: tuple[float, float] | None = None,
    profiles: bool = True,
    most_for_quadrature: int = MOST_FOR_QUADRATURE,
) -> MixedModel:
    """logit P(correct) = X beta + sd_p u_participant + sd_i v_item, with u, v ~ N(0, 1) independent.

    is_correct, participant, item: (n,), the latter two any labels. covariates: (n, k) or (n,) beside the intercept, which
    is always there and comes first; standardise them. sds: holds the standard deviations (participants, items), for large data
    for which those of a model without covariates will do. profiles: intervals of the standard deviations by profile
    likelihood, up to 50,000 trials, else Wald. most_for_quadrature: trials. Standard errors come from the curvature of the log-likelihood at
    its optimum, with the standard deviations among its parameters (those at 0 left out).
    Raises NotEnough without both outcomes, two participants and two items, and some of each that come twice, and where the outcome
    follows from a covariate without exception.

    >>> fit([1, 0] * 8, [0, 0, 1, 1] * 4, [0, 1, 1, 0] * 4).coefficients[0].estimate.__round__(6)
    0.0
    """
    y = np.asarray(is_correct, dtype=bool)
    people, who = np.unique(np.asarray(participant), return_inverse=True)
    things, what = np.unique(np.asarray(item), return_inverse=True)
    _check(y, len(people), len(things))
    columns = [np.ones(len(y))] + ([] if covariates is None else [np.asarray(covariates, float).T])
    x = np.vstack(columns).T
    if x.shape[1] > 1 and separating(x, y.astype(float)).any():
        raise NotEnough(
            "The outcome follows from a covariate without exception (complete separation), so that no estimate is finite.",
            "Collect more judgments.",
        )
    start = np.r_[special.logit(y.mean()), np.zeros(x.shape[1] - 1), 0.5, 0.5]
    profiles = profiles and len(y) <= MOST_FOR_PROFILES and sds is None
    integral = Integral.QUADRATURE if len(y) <= most_for_quadrature else Integral.LAPLACE
    try:
        kind = QuadratureLikelihood if integral is Integral.QUADRATURE else _laplace
        optimum, deviations = _maximise(kind(y, x, who, what), start, sds, profiles)
    except TooFewNodes:
        integral = Integral.LAPLACE
        likelihood = _laplace(y, x, who, what)
        optimum, deviations = _maximise(likelihood, start, sds, profiles)
    typical, typical_ci, marginal, marginal_ci = _accuracies(optimum)
    return MixedModel(
        n_trials=len(y),
        n_participants=len(people),
        n_items=len(things),
        coefficients=_coefficients(optimum),
        participants=deviations[0],
        items=deviations[1],
        log_likelihood=optimum.value,
        converged=optimum.converged and bool(np.abs(optimum.at[-2:]).max() < 10),
        integral=integral,
        method=METHOD.format(
            integral=INTEGRALS[integral], sd=PROFILE if profiles else WALD if sds is None else HELD
        ),
        accuracy_typical=typical,
        accuracy_typical_ci95=typical_ci,
        accuracy_marginal=marginal,
        accuracy_marginal_ci95=marginal_ci,
    )


def _laplace(y: Bools, x: Floats, who: Ints, what: Ints) -> LogLikelihood:
    """Laplace's approximation: from counts where one factor alone varies, if there are no covariates."""
    both = LaplaceLikelihood(y, x, who, what)
    if x.shape[1] > 1:
        return both
    alone = {PARTICIPANTS: OneFactor(y, who), ITEMS: OneFactor(y, what)}

    def likelihood(theta: Floats) -> float:
        for present, absent in ((PARTICIPANTS, ITEMS), (ITEMS, PARTICIPANTS)):
            if theta[absent] == 0:
                return alone[present](theta[0], theta[present])
        return both(theta)

    return likelihood


def _maximise(
    likelihood: LogLikelihood, start: Floats, sds: tuple[float, float] | None, profiles: bool
) -> tuple[Optimum, list[Deviation]]:
    if sds is not None:
        held = dict(zip((PARTICIPANTS, ITEMS), sds, strict=True))
        unknown = [Deviation(sd, None, math.nan, math.nan) for sd in sds]
        return optimum_given(likelihood, start, held), unknown
    optimum, without = find_optimum(likelihood, start)
    covariance, found = covariance_of(optimum), []
    for index, other in ((PARTICIPANTS, ITEMS), (ITEMS, PARTICIPANTS)):
        sd, at_zero = float(optimum.at[index]), without[index]
        statistic = max(0.0, 2 * (optimum.value - at_zero.value)) if sd else 0.0
        se, ci95 = math.sqrt(max(covariance[index, index], 0)), None
        if profiles:
            low = profile_limit(likelihood, optimum, index, -se) if statistic > Z95**2 else 0.0
            ci95 = low, profile_limit(likelihood, optimum, index, se)
        elif sd:
            ci95 = sd * math.exp(-Z95 * se / sd), sd * math.exp(Z95 * se / sd)
        deviation = Deviation(
            estimate=sd,
            ci95=ci95,
            statistic=statistic,
            p=float(special.chdtrc(1, statistic) / 2) if sd else 1.0,
            without=Without(float(at_zero.at[0]), float(at_zero.at[other]), at_zero.value),
        )
        found.append(deviation)
    return optimum, found


def _check(y: npt.NDArray[np.bool_], n_people: int, n_items: int) -> None:
    if not len(y) or y.all() or not y.any():
        reason = "No trials." if not len(y) else "All trials have the same outcome."
        raise NotEnough(reason, "A mixed model needs both correct and wrong trials.")
    if min(n_people, n_items) < 2 or len(y) <= max(n_people, n_items):
        raise NotEnough(
            (
                "The effects of participants and test cases cannot be separated, because nobody judged two test cases, or no "
                "test case was judged twice."
            ),
            "Let at least two participants judge the same two test cases.",
        )


def _coefficients(optimum: Optimum) -> tuple[Coefficient, ...]:
    errors = np.sqrt(np.maximum(np.diag(covariance_of(optimum)), 0))
    return tuple(
        Coefficient(
            b,
            se,
            (b - Z95 * se, b + Z95 * se),
            float(2 * special.ndtr(-abs(b) / se)) if se else math.nan,
        )
        for b, se in zip(optimum.at[:-2].tolist(), errors.tolist(), strict=False)
    )


def _accuracies(optimum: Optimum) -> tuple[float, Interval, float, Interval]:
    """Both accuracies with 95% intervals by the delta method on the logit scale."""
    theta, covariance = (
        optimum.at[[0, -2, -1]],
        covariance_of(optimum)[np.ix_([0, -2, -1], [0, -2, -1])],
    )

    def logit(t: Floats) -> float:
        return float(special.logit(marginal_accuracy(t[0], math.hypot(t[1], t[2]))))

    slopes = np.array([logit(theta + h) - logit(theta - h) for h in np.eye(3) * 1e-4]) / 2e-4
    middle, se = logit(theta), math.sqrt(max(float(slopes @ covariance @ slopes), 0.0))
    se_typical = math.sqrt(max(covariance[0, 0], 0))
    return (
        float(special.expit(theta[0])),
        _expit_interval(theta[0], se_typical),
        float(special.expit(middle)),
        _expit_interval(middle, se),
    )


def _expit_interval(middle: float, se: float) -> Interval:
    return float(special.expit(middle - Z95 * se)), float(special.expit(middle + Z95 * se))


def share_of_first(first: Deviation, second: Deviation) -> tuple[float | None, Interval | None]:
    """a^2 / (a^2 + b^2) of two standard deviations with its 95% interval: above 1/2, the first varies more.

    That of the ratio r = a / b is r^2 / (1 + r^2). Interval of the ratio from the two (l, u), taken as uncorrelated (MOVER: Donner and
    Zou 2012, Stat. Methods Med. Res. 21): r with a - r b = -+ sqrt((a - l_a)^2 + r^2 (u_b - b)^2), and the other end likewise. None
    where both are 0, or an interval is not known.

    >>> one, two = (Deviation(sd, ci95, 0.0, 1.0) for sd, ci95 in ((0.72, (0.45, 0.96)), (0.0, (0.0, 0.4))))
    >>> share, (low, high) = share_of_first(one, two)
    >>> share, round(low, 2), high
    (1.0, 0.74, 1.0)
    """
    a, b = first.estimate, second.estimate
    if not a and not b:
        return None, None
    share = a * a / (a * a + b * b)
    if first.ci95 is None or second.ci95 is None:
        return share, None
    low = _lower_share(first, second)
    return share, (low, 1 - _lower_share(second, first))


def _lower_share(first: Deviation, second: Deviation) -> float:
    """Lower end of `share_of_first`. The ratio's is the smaller root of r^2 u (2 b - u) - 2 r a b + l (2 a - l) = 0."""
    assert first.ci95
    assert second.ci95
    a, b, low, high = first.estimate, second.estimate, first.ci95[0], second.ci95[1]
    square, product, rest = high * (2 * b - high), a * b, low * (2 * a - low)
    root = math.sqrt(max(0.0, product * product - square * rest))
    # rest / (product + root) is (product - root) / square, which is 0 / 0 where the square is 0
    ratio = rest / (product + root) if product + root else 0.0
    return ratio * ratio / (1 + ratio * ratio)
