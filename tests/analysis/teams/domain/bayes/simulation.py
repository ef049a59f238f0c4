"""Parameters drawn from the prior, and judgments from parameters: what a sound fit must find again. Pure."""

import numpy as np

from analysis.stats.arrays import Floats
from analysis.teams.domain.bayes.model import Items, Layout


def draw_prior(layout: Layout, n: int, rng: np.random.Generator) -> Floats:
    """(n, p) draws of theta.

    >>> draw_prior(Layout(1, 3), 2, np.random.default_rng(1)).shape
    (2, 7)
    """
    return layout.prior_mean + layout.prior_sd * rng.standard_normal((n, layout.n_parameters))


def simulate(
    layout: Layout, theta: Floats, n_items: int, per_item: int, rng: np.random.Generator
) -> Items:
    """Evidence and answers of per_item people on each item, by the equations of the model with theta (p,).

    >>> items = simulate(Layout(1, 2), np.zeros(6), 5, 3, np.random.default_rng(1))
    >>> items.x.shape, items.counts.sum(axis=1).tolist()
    ((5, 1), [3.0, 3.0, 3.0, 3.0, 3.0])
    """
    at = layout.unpack(theta[None])
    off = rng.standard_normal((n_items, layout.n_models)) @ at.cholesky[0].T
    z = at.d[0] + off
    x = at.sigma[0] * np.sign(z) * np.abs(z) ** (1 / at.power[0])
    shared = at.omega[0] * rng.standard_normal((n_items, 1))
    mean = at.delta[0] + (off @ at.gamma[0])[:, None] + shared
    latent = mean + rng.standard_normal((n_items, per_item))
    edges = np.concatenate([-at.cuts[0][::-1], np.zeros(min(1, layout.n_levels)), at.cuts[0]])
    answer = np.searchsorted(edges, latent)
    counts = (answer[:, :, None] == np.arange(2 * layout.n_levels)).sum(axis=1)
    return Items(np.arange(n_items), x, counts.astype(float))
