"""Simulated studies, as an oracle of the closed form of analysis.stats.power."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from analysis.stats.estimates import Z95
from analysis.stats.mixed_model.model import marginal_accuracy
from analysis.stats.power import Design, components, variance


@dataclass(frozen=True)
class Simulated:
    """Mean standard error of the two-way intervals, the share of them that hold the true accuracy, and the closed form's error."""

    se: float
    coverage: float
    expected_se: float


def simulate(
    intercept: float,
    sd_participants: float,
    sd_items: float,
    design: Design,
    n_participants: int,
    *,
    seed: int,
    simulations: int,
) -> Simulated:
    """Studies from logit P = intercept + sd_p u + sd_i v; items in turn, so that no one sees one twice."""
    each = design.trials_of(n_participants)
    total = int(each.sum())
    rng = np.random.default_rng([seed, n_participants])
    person = np.repeat(np.arange(n_participants), each)
    item = np.arange(total) % design.n_items
    u = sd_participants * rng.standard_normal((simulations, n_participants), dtype=np.float32)
    v = sd_items * rng.standard_normal((simulations, design.n_items), dtype=np.float32)
    chance = expit(np.float32(intercept) + u[:, person] + v[:, item])
    right = rng.random((simulations, total), dtype=np.float32) < chance
    means, errors = _two_way(right, each, design.n_items)
    truth = marginal_accuracy(intercept, math.hypot(sd_participants, sd_items))
    parts = components(intercept, sd_participants, sd_items)
    return Simulated(
        se=float(errors.mean()),
        coverage=float((np.abs(means - truth) <= Z95 * errors).mean()),
        expected_se=math.sqrt(variance(parts, design, n_participants)),
    )


def _two_way(right, each, n_items):
    """(simulations,) means, and standard errors as analysis.stats.two_way_clustered has them, of all studies at once."""
    simulations, total = right.shape
    means = right.mean(axis=1)
    errors = (right - means[:, None]) / total
    starts = np.concatenate([[0], np.cumsum(each)[:-1]])
    rounds = -(-total // n_items)
    padded = np.zeros((simulations, rounds * n_items))
    padded[:, :total] = errors
    by_item = padded.reshape(simulations, rounds, n_items).sum(axis=1)[:, : min(total, n_items)]
    at_random = _variance(errors)
    between = [
        np.maximum(0, _variance(sums) - at_random)
        for sums in (np.add.reduceat(errors, starts, axis=1), by_item)
    ]
    return means, np.sqrt(at_random + between[0] + between[1])


def _variance(sums):
    levels = sums.shape[1]
    return np.asarray(np.einsum("ij,ij->i", sums, sums) * levels / max(levels - 1, 1))
