"""The model of correlated judgments: its parameters, and their prior.

Everything is folded towards the truth: latent evidence above 0 is evidence for the original. On item i the models' evidence
x_i (m,), in its own units, and a person's latent evidence h_it on trial t are

    z_i = sign(x_i) |x_i / sigma|^power ~ N(d, R)
    h_it = delta + gamma'(z_i - d) + omega u_i + e_it,  with u_i, e_it ~ N(0, 1)

with a sigma and a power for each model (differences of perplexities have heavy tails, that is powers below 1) and u_i what
people share about an item beyond the models. The person is right where h_it > 0, with level k of K where
|h_it| lies between the cut-points c_k-1 and c_k (0 = c_0 < c_1 < ... < c_K = infinity). After Steyvers, Tejeda, Kerrigan and
Smyth 2022, PNAS 119(11), in the form for two choices: one latent difference for each judge, with free cut-points.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis.stats.arrays import Floats

# (mean, standard deviation) of the normal prior of each kind of entry of theta
PRIORS: Mapping[str, tuple[float, float]] = {
    "delta": (0.0, 1.0),
    "log_cut": (float(np.log(0.5)), 1.0),  # the first cut-point
    "log_step": (float(np.log(0.7)), 1.0),  # between a cut-point and the next
    "gamma": (0.0, 0.5),
    "log_omega": (float(np.log(0.5)), 1.0),
    "d": (0.0, 1.0),
    "log_sigma": (0.0, 3.0),
    "log_power": (0.0, 0.5),
    "partial": (0.0, 0.5),
}
# A partial correlation is MOST_PARTIAL x tanh(entry): R stays regular. Models that items.not_copies leaves are below it
MOST_PARTIAL = 0.99999
PRIOR_WORDS = (
    "Normal priors (mean; standard deviation): people's shift (0; 1), logarithm of the first cut-point (log 0.5; 1) and of "
    "each step to the next (log 0.7; 1), weights of the models' evidence in people's (0; 0.5), logarithm of the share of an "
    "item that people have in common (log 0.5; 1), models' sensitivity (0; 1), logarithm of a model's scale in its units "
    "(0; 3) and of the power that its evidence counts to (0; 0.5), inverse hyperbolic tangent of partial correlations "
    "among models (0; 0.5)."
)


@dataclass(frozen=True)
class Parameters:
    """B draws: delta, omega (B,); cuts (B, K - 1) ascending; gamma, d, sigma, power (B, m); cholesky (B, m, m), lower, of R."""

    delta: Floats
    cuts: Floats
    gamma: Floats
    omega: Floats
    d: Floats
    sigma: Floats
    power: Floats
    cholesky: Floats


@dataclass(frozen=True)
class Layout:
    """Where each parameter stands in the unconstrained vector theta (p,).

    n_models: m, 0 or more. n_levels: K, levels of people's confidence; 1 is their choice alone, 0 is no people.
    has_powers: whether each model's evidence counts to a power that is estimated; else to 1, as it is.

    >>> Layout(1, 2).names
    ('delta', 'log_cut', 'gamma_1', 'log_omega', 'd_1', 'log_sigma_1')
    >>> Layout(2, 0).names
    ('d_1', 'd_2', 'log_sigma_1', 'log_sigma_2', 'partial_2_1')
    """

    n_models: int
    n_levels: int
    has_powers: bool = False

    @cached_property
    def kinds(self) -> tuple[tuple[str, int], ...]:
        """Kinds of parameters in the order of theta, with how many there are of each; keys of PRIORS."""
        m, k = self.n_models, self.n_levels
        people = (
            ("delta", 1),
            ("log_cut", int(k > 1)),
            ("log_step", max(0, k - 2)),
            ("gamma", m),
            ("log_omega", 1),
        )
        models = (
            ("d", m),
            ("log_sigma", m),
            ("log_power", m * self.has_powers),
            ("partial", m * (m - 1) // 2),
        )
        return (*(people if k else ()), *models)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Kind of parameter -> its places in theta. Partial correlations go row by row: 2_1, 3_1, 3_2, ..."""
        found, start = {}, 0
        for kind, n in self.kinds:
            found[kind] = slice(start, start + n)
            start += n
        return found

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the entries of theta."""
        found: list[str] = []
        for kind, n in self.kinds:
            if kind == "partial":
                found += [f"partial_{i + 1}_{j + 1}" for i, j in zip(*self.pairs, strict=True)]
            elif kind in ("delta", "log_cut", "log_omega"):
                found += [kind] * n
            else:
                found += [f"{kind}_{i + 1 + (kind == 'log_step')}" for i in range(n)]
        return tuple(found)

    @property
    def n_parameters(self) -> int:
        return sum(n for _, n in self.kinds)

    @cached_property
    def pairs(self) -> tuple[list[int], list[int]]:
        """Rows and columns, from 0, of the partial correlations: (1, 0), (2, 0), (2, 1), ..."""
        places = [(i, j) for i in range(self.n_models) for j in range(i)]
        return [i for i, _ in places], [j for _, j in places]

    @cached_property
    def prior_mean(self) -> Floats:
        return np.array([PRIORS[kind][0] for kind, n in self.kinds for _ in range(n)])

    @cached_property
    def prior_sd(self) -> Floats:
        return np.array([PRIORS[kind][1] for kind, n in self.kinds for _ in range(n)])

    def log_prior(self, theta: Floats) -> Floats:
        """(B,) log density of theta (B, p).

        >>> layout = Layout(0, 1)  # delta and log_omega
        >>> float(layout.log_prior(layout.prior_mean[None])[0].round(6))  # -log(2 pi)
        -1.837877
        """
        z = (theta - self.prior_mean) / self.prior_sd
        constant = np.log(self.prior_sd).sum() + 0.5 * self.n_parameters * np.log(2 * np.pi)
        return np.asarray(-0.5 * (z**2).sum(axis=1) - constant)

    def unpack(self, theta: Floats) -> Parameters:
        """theta (B, p) as what it stands for; without people, theirs are zeros, and there are no cut-points.

        >>> three = Layout(0, 3).unpack(np.log([[1.0, 0.5, 0.7, 0.5]]))
        >>> three.cuts.round(6).tolist(), three.omega.round(6).tolist()
        ([[0.5, 1.2]], [0.5])
        """
        part = {kind: theta[:, where] for kind, where in self.slices.items()}
        nothing = np.zeros(len(theta))
        if self.n_levels:
            steps = np.exp(np.column_stack([part["log_cut"], part["log_step"]]))
            people = part["delta"][:, 0], steps.cumsum(axis=1), part["gamma"]
            omega = np.exp(part["log_omega"][:, 0])
        else:
            people = nothing, np.zeros((len(theta), 0)), np.zeros((len(theta), self.n_models))
            omega = nothing
        d, sigma = part["d"], np.exp(part["log_sigma"])
        power = np.exp(part["log_power"]) if self.has_powers else np.ones_like(d)
        cholesky = cholesky_of(MOST_PARTIAL * np.tanh(part["partial"]), self.n_models)
        return Parameters(*people, omega, d, sigma, power, cholesky)


def cholesky_of(partial: Floats, n: int) -> Floats:
    """(B, n, n) lower Cholesky factors of correlation matrices, from canonical partial correlations (B, n (n - 1) / 2).

    Row by row, L_ij = p_ij sqrt(prod_k<j (1 - p_ik^2)) and L_ii = sqrt(prod_k<i (1 - p_ik^2)); Lewandowski, Kurowicka and
    Joe 2009, Journal of Multivariate Analysis 100.

    >>> cholesky_of(np.array([[0.6]]), 2)[0].round(6).tolist()
    [[1.0, 0.0], [0.6, 0.8]]
    """
    factor = np.zeros((len(partial), n, n))
    place = 0
    for i in range(n):
        left = np.ones(len(partial))
        for j in range(i):
            factor[:, i, j] = partial[:, place] * left
            left = left * np.sqrt(1 - partial[:, place] ** 2)
            place += 1
        factor[:, i, i] = left
    return factor
