"""Ways of combining judgments: what each of them is, and the published logistic one, all of whose folds are fitted at once.

Yanez, Luo, Valerio Minero and Love 2025, Patterns (confidence-weighted integration of human and machine judgments).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import special

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Ints
from analysis.stats.newton import minimise, newton_step
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import Folds
from analysis.teams.results import About, LogisticAbout, Method, NearChance


@dataclass(frozen=True)
class HeldOut:
    """p_original: (n,) probability that a row's original is the original, from a fit that saw no trial of its fold.

    is_right: (n,) whether the team chose the original; by itself p_original > 1/2 (a tie is wrong).
    about: how it was fitted. folds: those really used, where a method makes others of the given ones; None: those given.
    near_chance: where no member can be told from chance, what chance gives.
    """

    p_original: Floats
    is_right: Bools
    about: About
    folds: Folds | None = None
    near_chance: NearChance | None = None


class Combination(Protocol):
    """A way of combining."""

    @property
    def name(self) -> Method: ...

    def held_out(self, evidence: Evidence, folds: Folds) -> HeldOut:
        """All members of `evidence` are combined; its row r is predicted by a fit on folds.train(folds.fold[r]).

        Where it needs fewer folds it says which in HeldOut.folds: every one of them trains on a part of the training
        rows of each row it holds out. What is true of a held-out row must not have any part in its own prediction.

        Raises:
            NotEnough: these judgments do not suffice for a fit.
        """
        ...


def decided(p_original: Floats, about: About) -> HeldOut:
    """The choice that goes with the probabilities."""
    return HeldOut(p_original, np.asarray(p_original > 0.5), about)


PENALTY = 1.0  # 1 / C
MAX_STEPS, TOLERANCE = 50, 1e-10

PUBLISHED = (
    "Logistic regression of the original's side on the members' signed confidences as they are (a person's rating on its "
    "slider, a model's difference of perplexities), with an intercept, L2 penalty with C = 1 on the weights; {folds}."
)


@dataclass(frozen=True)
class Logistic:
    """The published combination: log-odds of side B = intercept + weights x signed confidences, unscaled, C = 1."""

    name: Method = Method.LOGISTIC

    def held_out(self, evidence: Evidence, folds: Folds) -> HeldOut:
        """See Combination. `about`: the weights in the order of Evidence.features.

        Raises NotEnough where a training fold has originals on one side only.
        """
        design = np.column_stack([np.ones(len(evidence)), evidence.features])
        penalty = np.full(design.shape[1], PENALTY)
        penalty[0] = 0.0
        is_b = (evidence.truth > 0).astype(float)
        betas, log_odds = _all_folds(evidence, design, is_b, penalty, folds)
        means = betas.mean(axis=0)
        return decided(
            special.expit(log_odds * evidence.truth),
            LogisticAbout(
                PUBLISHED.format(folds=folds.words), float(means[0]), tuple(means[1:].tolist())
            ),
        )


def _all_folds(
    evidence: Evidence, design: Floats, is_b: Floats, penalty: Floats, folds: Folds
) -> tuple[Floats, Floats]:
    """(folds, k) coefficients, and the held-out log-odds (n,) of side B. Rows that are alike are fitted as one."""
    distinct = rows = np.arange(len(evidence))
    times = np.ones(len(evidence))
    if not evidence.n_humans and folds.people_block is None:
        # A team of models says the same on every trial of an item
        _, distinct, rows, counts = np.unique(
            2 * evidence.item + (is_b > 0),
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        times = counts.astype(float)
    small, target = design[distinct], is_b[distinct]
    betas = np.empty((folds.n, design.shape[1]))
    held = folds.rows(distinct)
    for which, weights in held.weights():
        # From 0, not from a fit on all rows: that would know the held-out ones
        betas[which] = fit_ridge(small, target, weights * times, penalty)
    log_odds: Floats = np.einsum("nk,nk->n", small, betas[held.fold])
    return betas, log_odds[rows]


def fit_ridge(
    design: Floats, target: Floats, weights: Floats, penalty: Floats, start: Floats | None = None
) -> Floats:
    """Penalised logistic regressions that share their rows and differ in weights, by Newton's method; (fits, k).

    Minimises sum_n w_fn log(1 + exp(-(2 y_n - 1) x_n b_f)) + 1/2 sum_k penalty_k b_fk^2 for each row f of weights (fits,
    n); design (n, k), target (n,) 0 or 1, penalty (k,) or (fits, k), start (1 or fits, k). A step that does not lower
    the loss is halved; a fit is done when its Newton decrement is below 1e-10 of its loss.
    Raises NotEnough where rows of weight have one target only while a coefficient is without penalty.

    >>> fit_ridge(np.ones((4, 1)), np.array([1.0, 1, 1, 0]), np.ones((1, 4)), np.zeros(1)).round(6)  # log(3)
    array([[1.098612]])
    """
    n_fits, k = len(weights), design.shape[1]
    penalty = np.broadcast_to(penalty, (n_fits, k))
    _need_both(target, weights, penalty)
    begin = np.broadcast_to(0.0 if start is None else start, (n_fits, k))
    problem = _Ridge(design, target, weights, penalty)
    return minimise(problem, begin, max_steps=MAX_STEPS, must_converge=False).at


class _Ridge:
    """newton.Problem of penalised logistic regressions that share their rows and differ in weights."""

    def __init__(self, design: Floats, target: Floats, weights: Floats, penalty: Floats) -> None:
        self.design, self.target, self.weights, self.penalty = design, target, weights, penalty
        k = design.shape[1]
        self.pairs = (design[:, :, None] * design[:, None, :]).reshape(len(design), k * k)

    def loss(self, at: Floats, fits: Ints) -> tuple[Floats, Floats]:
        log_odds = at @ self.design.T
        misfit = np.logaddexp(0.0, np.where(self.target > 0, -log_odds, log_odds))
        ridge = 0.5 * (self.penalty[fits] * at**2).sum(axis=1)
        return (self.weights[fits] * misfit).sum(axis=1) + ridge, log_odds

    def step(self, at: Floats, state: Floats, loss: Floats, fits: Ints) -> tuple[Floats, Bools]:
        p, weights, penalty = special.expit(state), self.weights[fits], self.penalty[fits]
        k = at.shape[1]
        gradient = (weights * (p - self.target)) @ self.design + penalty * at
        hessian = ((weights * p * (1 - p)) @ self.pairs).reshape(-1, k, k)
        hessian[:, np.arange(k), np.arange(k)] += penalty
        step, decrement = newton_step(gradient, hessian)
        return step, decrement <= TOLERANCE * (1e-3 + loss)


def _need_both(target: Floats, weights: Floats, penalty: Floats) -> None:
    free = (penalty == 0).any(axis=1)
    ones = (weights[free] * target).sum(axis=1)
    if len(ones) and ((ones <= 0) | (ones >= weights[free].sum(axis=1))).any():
        raise NotEnough(
            "In some training folds all originals stand on the same side.",
            "More items are needed, with originals on both sides.",
        )
