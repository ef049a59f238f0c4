"""Simulation-based calibration: parameters drawn from the prior lie anywhere in posteriors of their data, evenly.

Talts, Betancourt, Simpson, Vehtari and Gelman 2018. All pairs in full take minutes and belong to the sweep.
"""

import numpy as np
import pytest
from scipy import stats

from analysis.teams.domain.bayes.model import Layout
from analysis.teams.domain.bayes.posterior import derived, fit
from tests.analysis.teams.domain.bayes.simulation import draw_prior, simulate

BINS = 8
PAIRS = {
    "two humans": (Layout(0, 3), 30, 3),
    "human and model": (Layout(1, 3, True), 30, 3),
    "two models": (Layout(2, 0, True), 40, 0),
}


def places(layout, n_items, per_item, replicates, n_draws):
    """(replicates, quantities): the share of each posterior below the truth, for theta and all that is derived of it."""
    rng = np.random.default_rng(2018)
    found, converged = [], 0
    for theta in draw_prior(layout, replicates, rng):
        items = simulate(layout, theta, n_items, per_item, rng)
        posterior = fit(layout, items, draws=n_draws, seed=int(rng.integers(2**31)))
        converged += posterior.diagnostics.converged
        draws = np.column_stack(
            [posterior.theta, *(q.values for q in derived(layout, posterior.theta))]
        )
        truth = np.concatenate([theta, *(q.values for q in derived(layout, theta[None]))])
        found.append(posterior.weights @ (draws < truth))
    names = [*layout.names, *(q.name for q in derived(layout, theta[None]))]
    return dict(zip(names, np.array(found).T, strict=True)), converged / replicates


@pytest.mark.parametrize(
    ("pair", "n", "n_draws"),
    [
        ("two humans", 40, 400),
        *(pytest.param(pair, 500, 1000, marks=pytest.mark.sweep) for pair in PAIRS),
    ],
)
def test_posteriors_hold_what_the_data_came_from_as_often_as_they_say(pair, n, n_draws):
    layout, n_items, per_item = PAIRS[pair]
    found, converged = places(layout, n_items, per_item, n, n_draws)
    assert converged > 0.95
    least = 0.001 / len(found)
    for name, place in found.items():
        counts = np.histogram(place, BINS, (0, 1))[0]
        assert stats.chisquare(counts).pvalue > least, (name, counts)
        for level in (0.5, 0.9):
            inside = int((np.abs(place - 0.5) < level / 2).sum())
            assert stats.binomtest(inside, n, level).pvalue > least, (name, level, inside)
