"""Dependence of a decision on several effects: yes or no, with trials that go together by participant and test case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Ints
from analysis.stats.cr2 import Fitted, Slope, slopes
from analysis.stats.newton import NotConverged, minimise, newton_step
from analysis.stats.trial_slope import FEWEST

TOLERANCE = 1e-12  # decrement of a step
PENALISED = 1e-7  # the same, where steps only come near the penalised maximum's
LARGEST = 30.0  # log-odds, where a likelihood rises for ever
SURE = 1e-6  # chance of the rarer answer, below which some effect may be without bounds
METHOD = (
    "Log-odds of the outcome, linear in all effects at once, by maximum likelihood without penalty over trials: effects over "
    "all participants and test cases, smaller than those within a participant. Standard errors clustered by participant and test case, each "
    "sandwich corrected for leverage (CR2); 95% intervals and two-sided p from Student's t with Satterthwaite's degrees of freedom. "
    "Where the outcome follows from an effect without exception (complete separation), all effects have Firth's penalty (Jeffreys' "
    "prior), without which they would not be finite, and no interval and no p."
)


@dataclass(frozen=True)
class TrialEffect:
    """Result of `trial_model`, in log-odds. slope: None in a model in which an effect separates; `estimate` is then penalised."""

    name: str
    estimate: float
    separates: bool
    slope: Slope | None


def trial_model(
    columns: Mapping[str, Floats], outcome: Floats, participant: Ints, item: Ints
) -> tuple[TrialEffect, ...]:
    """Effects of columns (n,) beside the intercept, which comes first as "", on outcome (n,) of 0 and 1; participant, item (n,).

    logit P(outcome = 1) = b_0 + sum of b_j x_j, and where some effects separate the outcomes the b that maximise log L +
    log det I / 2 (Firth 1993, Biometrika 80; Heinze and Schemper 2002, Stat. Med. 21). Errors are those of `cr2.slopes`. Raises
    NotEnough with one outcome only, with columns that follow from one another, and with fewer than FEWEST participants or items.
    """
    x = np.column_stack([np.ones(len(outcome)), *columns.values()])
    people, items = (np.unique(one, return_inverse=True)[1] for one in (participant, item))
    if not len(outcome) or not np.ptp(outcome):
        reason = "All trials have the same outcome." if len(outcome) else "There is no such trial."
        raise NotEnough(reason, "Let more participants finish the study.")
    if min(people.max(), items.max()) + 1 < FEWEST:
        raise NotEnough(
            f"With fewer than {FEWEST} participants or test cases, an effect has no interval.",
            "Let more participants judge more test cases.",
        )
    if np.linalg.matrix_rank(x) < x.shape[1]:
        raise NotEnough(
            "Some effects follow from others in these trials, and cannot be told from them.",
            "Let more participants judge more test cases.",
        )
    unbounded = separating(x, outcome)
    fit = _fit(x, outcome, is_penalised=bool(unbounded.any()))
    if fit is None:
        raise NotEnough("The model has no fit.", "Let more participants finish the study.")
    # Few clusters are left to tell of the other effects: in simulations these were found in up to 18%
    is_known = not unbounded.any()
    found = slopes(fit, (people, items))
    return tuple(
        TrialEffect(name, one.estimate, bool(free), one if is_known else None)
        for name, one, free in zip(("", *columns), found, unbounded, strict=True)
    )


def separating(x: Floats, outcome: Floats) -> Bools:
    """(k,) which coefficients of x (n, k) know no bounds: the likelihood of outcome (n,) of 0 and 1 never falls as they grow.

    Those that are not 0 in some b with (2 y_t - 1) x_t' b >= 0 for all t (Albert and Anderson 1984, Biometrika 71; by linear programs as in
    Konis 2007). x has full rank. Where the fit leaves no answer nearly sure, no program is needed.

    >>> separating(np.array([[1.0, 0], [1, 0], [1, 1], [1, 1]]), np.array([0.0, 1, 1, 1])).tolist()
    [False, True]
    """
    fit = _fit(x, outcome, is_penalised=False)
    if fit is not None and fit.weight.min() > SURE:
        return np.zeros(x.shape[1], dtype=bool)
    against = np.unique(-(2 * outcome - 1)[:, None] * x, axis=0)
    k, limits = x.shape[1], np.zeros(len(against))
    unbounded = np.zeros(k, dtype=bool)
    for j, sign in ((j, sign) for j in range(k) for sign in (-1.0, 1.0)):
        if not unbounded[j]:
            most = optimize.linprog(
                sign * np.eye(k)[j], A_ub=against, b_ub=limits, bounds=(-1.0, 1.0)
            )
            unbounded[j] = most.fun is not None and most.fun < -1e-6
    return unbounded


def _fit(x: Floats, outcome: Floats, *, is_penalised: bool) -> Fitted | None:
    """None where there is no maximum. statsmodels has no penalty of Firth's, and its Logit takes twice the time without."""
    problem = _Likelihood(x, outcome, is_penalised)
    start = np.zeros((1, x.shape[1]))
    try:
        beta = minimise(problem, start, largest=LARGEST).at[0]
        weight, residual, _ = problem.at(beta)
        return Fitted.of(x, beta, weight, residual)
    except (NotConverged, np.linalg.LinAlgError):  # the latter where every weight of an effect is 0
        return None


@dataclass(frozen=True)
class _Likelihood:
    """newton.Problem of one logistic regression, with Firth's penalty or none; its state are the parameters."""

    x: Floats
    outcome: Floats
    is_penalised: bool

    def at(self, beta: Floats) -> tuple[Floats, Floats, Floats]:
        """Weights and residuals (n,), these with the penalty's part, and the information (k, k)."""
        p = special.expit(self.x @ beta)
        weight = p * (1 - p)
        information = (self.x.T * weight) @ self.x
        residual = self.outcome - p
        if self.is_penalised:
            leverage = weight * np.einsum(
                "nj,nj->n", self.x, np.linalg.solve(information, self.x.T).T
            )
            residual = residual + leverage * (0.5 - p)
        return weight, residual, information

    def loss(self, at: Floats, fits: Ints) -> tuple[Floats, Floats]:
        log_odds = self.x @ at[0]
        value = float(np.logaddexp(0, log_odds).sum() - self.outcome @ log_odds)
        if self.is_penalised:
            p = special.expit(log_odds)
            sign, size = np.linalg.slogdet((self.x.T * (p * (1 - p))) @ self.x)
            value = value - size / 2 if sign > 0 else np.inf
        return np.array([value]), at.copy()

    def step(self, at: Floats, state: Floats, loss: Floats, fits: Ints) -> tuple[Floats, Bools]:
        _weight, residual, information = self.at(at[0])
        step, decrement = newton_step(-(residual @ self.x)[None], information[None])
        return step, decrement < (PENALISED if self.is_penalised else TOLERANCE)
