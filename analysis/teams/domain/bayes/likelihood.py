"""The likelihood of the model of correlated judgments, item by item, with its derivatives; for many draws at once.

What people share about an item, u, is integrated numerically, once for each item over all its answers: cost grows with items,
not with trials.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import special

from analysis.stats.arrays import Floats, Ints
from analysis.teams.domain.bayes.model import MOST_PARTIAL, Items, Layout, Parameters

# A probability of an answer is never taken below this: only for parameters far from the data
LEAST = 1e-15
REACH = 4.8  # nodes of u lie between -REACH and REACH standard deviations
MOST_STEP = 0.8  # ... at most that far apart
FINEST = 20  # steps a thousandth of that
MOST_LOG_Z = 50.0  # only for parameters far from the data
CHUNK = 200_000  # numbers in one array of answers' probabilities
HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)


def nodes(fineness: int) -> tuple[Floats, Floats]:
    """Equally spaced nodes of u ~ N(0, 1) and the logarithms of their weights, which add up to 1.

    Steps are MOST_STEP / 2^(fineness / 2).

    >>> u, log_weights = nodes(0)
    >>> len(u), round(float(np.exp(log_weights).sum()), 9), round(float(np.exp(log_weights) @ u**2), 3)
    (13, 1.0, 1.0)
    """
    half = int(np.ceil(REACH / MOST_STEP * 2 ** (fineness / 2)))
    u = np.linspace(-REACH, REACH, 2 * half + 1)
    return u, -0.5 * u**2 - special.logsumexp(-0.5 * u**2)


def fineness_of(omega: Floats, most_answers: float) -> Ints:
    """How fine the nodes must be for omega (B,) and at most so many answers on an item.

    The trapezoid rule converges exponentially once steps are below twice the width of a smooth integrand. No answer shows
    more than the latent evidence itself, so given n answers u is spread by at least 1 / sqrt(1 + omega^2 n); steps are at
    most 1.75 of that.

    >>> fineness_of(np.array([0.5, 2.0, 8.0]), 4).tolist()
    [0, 2, 6]
    """
    width = 1.0 / np.sqrt(1.0 + omega**2 * most_answers)
    needed = 2.0 * np.log2(MOST_STEP / (1.75 * width))
    return np.clip(np.ceil(needed), 0, FINEST).astype(np.int64)


def log_likelihood(layout: Layout, theta: Floats, items: Items, finer: int = 0) -> Floats:
    """(B, items) log density of an item's evidence and answers given theta (B, p); `finer` is added to the fineness."""
    at = layout.unpack(theta)
    found = np.zeros((len(theta), len(items)))
    if layout.n_models:
        found += _Models.of(at, items).log_density
    if layout.n_levels:
        for part, fineness in _chunks(at, items):
            found[part] += _People.of(_some(at, part), items, fineness + finer).log_density
    return found


def gradient(layout: Layout, theta: Floats, items: Items) -> Floats:
    """(B, p) derivatives of the sum over items of log_likelihood by theta (B, p)."""
    found = np.zeros_like(theta)
    everything = layout.unpack(theta)
    for part, fineness in _chunks(everything, items):
        at = _some(everything, part)
        of: dict[str, Floats] = {}
        if layout.n_models:
            of = _Models.of(at, items).gradient(at, items, layout)
        if layout.n_levels:
            people = _People.of(at, items, fineness).gradient(at, items)
            of = people | {kind: value + people.get(kind, 0.0) for kind, value in of.items()}
        for kind, where in layout.slices.items():
            if where.stop > where.start:
                found[part, where] = of[kind]
    return found


def _chunks(at: Parameters, items: Items) -> Iterator[tuple[Ints, int]]:
    """Numbers of draws that share their nodes, as many as fit in memory at once, and how fine these are."""
    fineness = fineness_of(at.omega, items.most_answers)
    for fine in np.unique(fineness):
        draws = np.flatnonzero(fineness == fine)
        n_nodes = len(nodes(int(fine))[0]) if items.most_answers > 1 else 1
        size = max(1, CHUNK // max(1, len(items) * n_nodes))
        for start in range(0, len(draws), size):
            yield draws[start : start + size], int(fine)


def _some(at: Parameters, part: Ints) -> Parameters:
    return Parameters(**{name: getattr(at, name)[part] for name in Parameters.__dataclass_fields__})


def _log_z(at: Parameters, items: Items) -> Floats:
    """(B, items, m) log |z|."""
    log_z = at.power[:, None] * (items.log_size - np.log(at.sigma)[:, None])
    return np.asarray(np.minimum(log_z, MOST_LOG_Z))


def _z(at: Parameters, items: Items) -> Floats:
    """(B, items, m)."""
    return np.asarray(np.sign(items.x) * np.exp(_log_z(at, items)))


@dataclass(frozen=True)
class _Models:
    """z: (B, m, items); white: L^-1 (z - d)."""

    z: Floats
    white: Floats
    log_density: Floats

    @staticmethod
    def of(at: Parameters, items: Items) -> "_Models":
        z = _z(at, items).transpose(0, 2, 1)
        white = np.asarray(np.linalg.solve(at.cholesky, z - at.d[:, :, None]), dtype=np.float64)
        scale = np.log(np.einsum("bjj->bj", at.cholesky)) + HALF_LOG_2PI
        scale += at.power * np.log(at.sigma) - np.log(at.power)
        log_density: Floats = -0.5 * (white**2).sum(axis=1) - scale.sum(axis=1)[:, None]
        log_density += (at.power - 1) @ items.log_size.T
        return _Models(z, white, log_density)

    def gradient(self, at: Parameters, items: Items, layout: Layout) -> dict[str, Floats]:
        """With v = R^-1 (z - d): by d, v; by log sigma, power (v z - 1); by log power, 1 + log|z| (1 - v z); by L, v w' -
        diag(1 / L), and from L to partial correlations.
        """
        n = self.z.shape[2]
        v = np.linalg.solve(at.cholesky.transpose(0, 2, 1), self.white)
        by_factor = v @ self.white.transpose(0, 2, 1)
        diagonal = np.arange(layout.n_models)
        by_factor[:, diagonal, diagonal] -= n / at.cholesky[:, diagonal, diagonal]
        vz = v * self.z
        of = {"d": v.sum(axis=2), "log_sigma": at.power * (vz.sum(axis=2) - n)}
        if layout.has_powers:
            log_z = _log_z(at, items).transpose(0, 2, 1)
            of["log_power"] = n + (log_z * (1 - vz)).sum(axis=2)
        if layout.n_models > 1:
            # L_ij = p_ij q_ij, and every L_il with l > j has the factor sqrt(1 - p_ij^2)
            columns = []
            for i in range(1, layout.n_models):
                row, by_row, left = at.cholesky[:, i], by_factor[:, i], np.ones(len(vz))
                for j in range(i):
                    partial = row[:, j] / left
                    later = (by_row[:, j + 1 : i + 1] * row[:, j + 1 : i + 1]).sum(axis=1)
                    by_p = by_row[:, j] * left - partial / (1 - partial**2) * later
                    columns.append(by_p * (MOST_PARTIAL - partial**2 / MOST_PARTIAL))
                    left = left * np.sqrt(1 - partial**2)
            of["partial"] = np.column_stack(columns)
        return of


@dataclass(frozen=True)
class _People:
    """eta: (B, items, Q) people's latent evidence given u, over s; at_nodes: log density of the answers and u.

    s: (B, 1) standard deviation of people's noise. It is 1; where no item has two answers, u is part of that noise, and
    there is one node.
    """

    s: Floats
    u: Floats
    edges: Floats
    eta: Floats
    probabilities: list[Floats]
    at_nodes: Floats
    log_density: Floats

    @staticmethod
    def of(at: Parameters, items: Items, fineness: int) -> "_People":
        z = _z(at, items)
        mean = at.delta[:, None] + np.einsum("bij,bj->bi", z - at.d[:, None, :], at.gamma)
        edges = np.column_stack([-at.cuts[:, ::-1], np.zeros(len(mean)), at.cuts])
        single = items.most_answers <= 1
        u, log_weights = (np.zeros(1), np.zeros(1)) if single else nodes(fineness)
        s = np.sqrt(1 + single * at.omega**2)[:, None]
        edges = edges / s
        eta = (mean / s)[:, :, None] + at.omega[:, None, None] * u
        # Of each answer, in the order of Items.counts: that eta plus standard normal noise falls between two edges
        below = [special.ndtr(edges[:, e, None, None] - eta) for e in range(edges.shape[1])]
        above = special.ndtr(eta - edges[:, -1, None, None])
        between = [high - low for low, high in pairwise(below)]
        probabilities = [np.maximum(p, LEAST) for p in (below[0], *between, above)]
        at_nodes = np.broadcast_to(log_weights, eta.shape).copy()
        for n, p in zip(items.counts.T, probabilities, strict=True):
            some = np.flatnonzero(n)
            if len(some):
                at_nodes[:, some] += n[some, None] * np.log(p[:, some])
        highest = at_nodes.max(axis=2, keepdims=True)
        total = np.log(np.exp(at_nodes - highest).sum(axis=2)) + highest[:, :, 0]
        return _People(s, u, edges, eta, probabilities, at_nodes, total)

    def gradient(self, at: Parameters, items: Items) -> dict[str, Floats]:
        """By the mean, omega and the edges between answers, averaged over u given the answers; from these to theta."""
        share = np.exp(self.at_nodes - self.log_density[:, :, None])
        by_eta = np.zeros_like(self.eta)
        by_edge = np.empty((len(self.eta), self.edges.shape[1]))
        for e in range(self.edges.shape[1]):
            density = np.exp(-0.5 * (self.edges[:, e, None, None] - self.eta) ** 2 - HALF_LOG_2PI)
            below, above = (
                items.counts[:, e + k, None] / self.probabilities[e + k] for k in (0, 1)
            )
            score = share * density * (below - above)
            by_eta -= score
            by_edge[:, e] = score.sum(axis=(1, 2))
        by_omega = (by_eta * self.u).sum(axis=(1, 2))
        if len(self.u) == 1:
            by_s = -(by_eta * self.eta).sum(axis=(1, 2)) - (by_edge * self.edges).sum(axis=1)
            by_omega = by_s * at.omega / self.s[:, 0] ** 2
        by_mean, by_edge = by_eta.sum(axis=2) / self.s, by_edge / self.s
        k = at.cuts.shape[1]
        by_cut = by_edge[:, k + 1 :] - by_edge[:, :k][:, ::-1]
        later = by_cut[:, ::-1].cumsum(axis=1)[:, ::-1]
        steps = np.diff(at.cuts, axis=1, prepend=0.0) * later
        z = _z(at, items)
        total = by_mean.sum(axis=1)
        return {
            "delta": total[:, None],
            "log_cut": steps[:, :1],
            "log_step": steps[:, 1:],
            "gamma": np.einsum("bi,bij->bj", by_mean, z - at.d[:, None, :]),
            "log_omega": (at.omega * by_omega)[:, None],
            "d": -at.gamma * total[:, None],
            "log_sigma": -at.gamma * at.power * np.einsum("bi,bij->bj", by_mean, z),
            "log_power": at.gamma * np.einsum("bi,bij->bj", by_mean, z * _log_z(at, items)),
        }
