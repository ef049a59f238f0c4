"""Bayesian combination of judgments: each item's from the posterior given the other items."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.stats.arrays import Floats, Ints
from analysis.teams.domain.bayes.likelihood import log_likelihood
from analysis.teams.domain.bayes.model import (
    PRIOR_WORDS,
    Items,
    Layout,
    categories,
    count,
    level_bounds,
    need_spread,
    not_copies,
    ratings,
)
from analysis.teams.domain.bayes.posterior import LEAST_ESS, WeightedDraws, derived, ess, fit
from analysis.teams.domain.combination import HeldOut
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import Folds
from analysis.teams.results import BayesianAbout, Method, Quantity
from lib.points import points

SUREST = 1e-9  # no probability is nearer to 0 or 1

RULE = (
    "Bayesian combination (after Steyvers, Tejeda, Kerrigan and Smyth 2022): latent evidence towards the original "
    "is normal (for a model, after raising it to an estimated power) and correlated among all members. People's "
    "confidence is an ordered probit with free cut-points, in {levels}. The probability is the posterior "
    "predictive one given the trials of the other test cases; {folds}. At a probability of 1/2, for example if two "
    "people disagree with the same level of confidence, the sum of their signed ratings decides. A model's tie is "
    "evidence of 0, which favours neither side; if nothing favours one, the team ties. Probabilities are "
    "kept at least 1e-9 away from 0 and from 1. A model that is a weighted sum of others within 1% is left out."
)
REWEIGHTED = (
    "One test case at a time is left out by reweighting the posterior draws, or by a fit without it if fewer than "
    "a fifth of the draws remain effective. The draws come from the posterior of all test cases, so the truth of a "
    "test case still influences the prediction for it, within the Monte Carlo error of the draws. When this truth was "
    "reversed in simulated trials, predictions changed by less than .003 for a human and a model; for five members, by .003 with 200 "
    "test cases and up to .06 with 31 (more with fewer)."
)
REFITTED = "Every fold has a separate fit."
# Draws for few items, of which each says much: as many times `draws`, until items times draws are those of so many items
MOST_TIMES, ENOUGH_ITEMS = 4, 160


@dataclass(frozen=True)
class Bayesian:
    """draws: of a posterior, up to 4 times as many where below 160 items are left out by reweighting them.

    refit_draws: of the fit of one fold. refit: a fit of its own for every fold, as up to refit_up_to items anyway.
    n_levels: of people's confidence, of equal size as far as equal ratings allow. has_powers: as in Layout.
    """

    name: Method = Method.BAYESIAN
    draws: int = 1000
    refit_draws: int = 400
    seed: int = 42
    refit: bool = False
    refit_up_to: int = 16
    n_levels: int = 3
    has_powers: bool = True

    def held_out(self, evidence: Evidence, folds: Folds) -> HeldOut:
        """See Combination.

        Raises NotEnough where a model's evidence does not vary, or there are too few items for the models.
        """
        h = evidence.n_humans
        models = [m.name for m in evidence.members[h:]]
        _, first = np.unique(evidence.item, return_index=True)
        independent = not_copies(evidence.towards_truth[first, h:])
        copies = [name for k, name in enumerate(models) if k not in independent]
        if copies:  # models that repeat others
            evidence = evidence.of([name for name in evidence.names if name not in copies])
        bounds = level_bounds(ratings(evidence), self.n_levels)
        items = count(evidence, bounds)
        names = [m.display_name for m in evidence.members[evidence.n_humans :]]
        need_spread(items, names)
        layout = Layout(items.x.shape[1], items.n_levels, self.has_powers)
        reweighted = self._reweights(evidence, folds)
        times = min(MOST_TIMES, max(1.0, ENOUGH_ITEMS / len(items))) if reweighted else 1.0
        whole = fit(layout, items, draws=round(times * self.draws), seed=self.seed)
        cells, cell = _cells(evidence, items, bounds, folds)
        log_odds, again = np.zeros(len(cells.items)), np.unique(cells.fold)
        if reweighted:
            # Draws weighted with 1 / likelihood of the item; folds for which these are too few have a fit of their own
            without = whole.log_weights[:, None] - whole.item_log_likelihood
            poor = ess(without) < LEAST_ESS * whole.diagnostics.ess
            log_odds = _log_odds(whole, cells.items, without[:, cells.place])
            again = np.unique(cells.fold[poor[cells.place]])
        for f in again:
            held = np.flatnonzero(cells.fold == f)
            trained = count(evidence.rows(folds.train(int(f))), bounds)
            need_spread(trained, names)
            near = fit(layout, trained, draws=self.refit_draws, seed=self.seed, near=whole.mode)
            log_odds[held] = _log_odds(near, cells.items.rows(held), near.log_weights[:, None])
        p = np.clip(special.expit(log_odds), SUREST, 1 - SUREST)[cell]
        # People on the same level against each other say nothing: the higher ratings decide
        people = evidence.towards_truth[:, : evidence.n_humans].sum(axis=1)
        decides = np.where(p == 0.5, people, p - 0.5)
        return HeldOut(
            p, points(decides), self._about(evidence, whole, bounds, len(again), copies, folds)
        )

    def _reweights(self, evidence: Evidence, folds: Folds) -> bool:
        if self.refit or folds.people_block is not None or folds.n <= self.refit_up_to:
            return False
        # Every fold must be one item with all its rows
        n = len(np.unique(evidence.item))
        pairs = np.unique(np.column_stack([evidence.item, folds.fold]), axis=0)
        return n == folds.n == len(pairs)

    def _about(
        self,
        evidence: Evidence,
        whole: WeightedDraws,
        bounds: Sequence[float],
        n_refitted: int,
        copies: Sequence[str],
        folds: Folds,
    ) -> BayesianAbout:
        levels = f"{len(bounds) + 1} levels" if bounds else "one level"
        way = REWEIGHTED if self._reweights(evidence, folds) else REFITTED
        models = evidence.members[evidence.n_humans :]
        quantities = derived(whole.layout, whole.theta)
        posterior = {q.name: q.summary(whole.weights) for q in quantities}
        return BayesianAbout(
            rule=" ".join((RULE.format(levels=levels, folds=folds.words), way)),
            priors=PRIOR_WORDS,
            posterior=posterior,
            parameters={q.name: q.described([m.display_name for m in models]) for q in quantities},
            models=tuple(m.name for m in models),
            copies_left_out=tuple(copies),
            cut_points=tuple(p for p in posterior.values() if p.quantity == Quantity.CUT),
            n_levels=len(bounds) + 1 if evidence.n_humans else 0,
            level_bounds=tuple(bounds),
            diagnostics=whole.diagnostics,
            n_refitted=n_refitted,
            n_folds=folds.n,
        )


@dataclass(frozen=True)
class _Cells:
    """Cells to be predicted, each different case once. items: with the counts of one row's answers alone.

    fold: (cells,) in which it is held out. place: (cells,) of its item among all items.
    """

    items: Items
    fold: Ints
    place: Ints


def _cells(
    evidence: Evidence, items: Items, bounds: Sequence[float], folds: Folds
) -> tuple[_Cells, Ints]:
    """The cases and, for each row, the number of its case. The order of a row's answers means nothing."""
    h = evidence.n_humans
    answers = np.sort(categories(evidence.towards_truth[:, :h], bounds), axis=1)
    keys = np.column_stack([folds.fold, np.searchsorted(items.item, evidence.item), answers])
    distinct, cell = np.unique(keys, axis=0, return_inverse=True)
    place = distinct[:, 1]
    columns = np.arange(items.counts.shape[1])
    counts = (distinct[:, 2:, None] == columns).sum(axis=1).astype(float)
    rows = Items(items.item[place], items.x[place], counts)
    return _Cells(rows, distinct[:, 0], place), cell.ravel()


def _log_odds(draws: WeightedDraws, items: Items, log_weights: Floats) -> Floats:
    """(cells,) of the truth against its mirror image, averaged over draws with log_weights (S, cells or 1)."""
    sides = [
        special.logsumexp(log_likelihood(draws.layout, draws.theta, of) + log_weights, axis=0)
        for of in (items, items.mirrored)
    ]
    return np.asarray(sides[0] - sides[1])
