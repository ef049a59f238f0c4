"""The model of correlated judgments: its parameters, and their prior.

Everything is folded towards the truth: latent evidence above 0 is evidence for the original. On item i the models' evidence
x_i (m,), in its own units, and a person's latent evidence h_it on trial t are

    z_i = sign(x_i) |x_i / sigma|^power ~ N(d, R)
    h_it = delta + gamma'(z_i - d) + omega u_i + e_it,  with u_i, e_it ~ N(0, 1)

with a sigma and a power for each model (differences of perplexities have heavy tails, that is powers below 1) and u_i what
people share about an item beyond the models. The person is right where h_it > 0, with level k of K where
|h_it| lies between the cut-points c_k-1 and c_k (0 = c_0 < c_1 < ... < c_K = infinity). After Steyvers, Tejeda, Kerrigan and
Smyth 2022, PNAS 119(11), in the form for two choices: one latent difference for each judge, with free cut-points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Ints
from analysis.teams.domain.evidence import Evidence

# A model whose evidence on all items is, but for this share of its length, a weighted sum of other models'. Nearer copies
# would correlate beyond model.MOST_PARTIAL: what that keeps R from saying, scales would take up, and count them twice.
COPY = 0.01


@dataclass(frozen=True)
class Items:
    """All towards the truth. x: (items, m) the models' evidence in its units.

    counts: (items, 2 K) people's answers, from wrong with the highest level of confidence, through wrong and right with the
    lowest, to right with the highest; (items, 0) in teams without people. item: (items,) their numbers in the evidence.
    """

    item: Ints
    x: Floats
    counts: Floats

    def __len__(self) -> int:
        return len(self.item)

    @property
    def n_levels(self) -> int:
        return int(self.counts.shape[1]) // 2

    @cached_property
    def most_answers(self) -> float:
        """On one item."""
        return float(self.counts.sum(axis=1).max(initial=0.0))

    @cached_property
    def log_size(self) -> Floats:
        """(items, m) log |x|; for x = 0, which has none, that of the model's smallest evidence."""
        size = np.abs(self.x)
        least = np.where(size > 0, size, np.inf).min(axis=0, initial=np.inf)
        least = np.where(np.isfinite(least), least, 1.0)
        return np.asarray(np.log(np.where(size > 0, size, least)))

    @property
    def mirrored(self) -> "Items":
        """The same judgments, were the other side the original."""
        return Items(self.item, -self.x, self.counts[:, ::-1])

    def rows(self, chosen: Bools | Ints) -> "Items":
        """The chosen items."""
        return Items(self.item[chosen], self.x[chosen], self.counts[chosen])


def level_bounds(ratings: Floats, n_levels: int) -> tuple[float, ...]:
    """The highest ratings of all levels but the last: quantiles of the ratings (n,); equal ratings share a level.

    Fewer than n_levels - 1 where ratings are too much alike.

    >>> level_bounds(np.array([1.0, 2, 3, 4, 5, 6]), 3)
    (2.0, 4.0)
    >>> level_bounds(np.array([5.0, 5, 5, 5, 5, 6]), 3), level_bounds(np.array([5.0, 5]), 3)
    ((5.0,), ())
    """
    if not len(ratings) or n_levels < 2:
        return ()
    shares = np.arange(1, n_levels) / n_levels
    found = np.unique(np.quantile(ratings, shares, method="inverted_cdf"))
    return tuple(float(b) for b in found if b < ratings.max())


def categories(towards: Floats, bounds: Sequence[float]) -> Ints:
    """Columns of Items.counts for signed confidences in the original, of any shape; -1 for 0, which is no choice.

    >>> categories(np.array([-9.0, -1, 0, 1, 9]), (5.0,)).tolist()
    [0, 1, -1, 2, 3]
    """
    k = len(bounds) + 1
    level = np.searchsorted(np.asarray(bounds, dtype=float), np.abs(towards))
    found = np.where(towards > 0, k + level, k - 1 - level)
    return np.where(towards == 0, -1, found)


def ratings(evidence: Evidence) -> Floats:
    """People's ratings above 0, each judgment once however many rows it is in."""
    signed = _judgments(evidence)[2]
    return np.asarray(np.abs(signed[signed != 0]))


def count(evidence: Evidence, bounds: Sequence[float]) -> Items:
    """The evidence's items in ascending order, each judgment once. A model says the same on all rows of an item."""
    items, first = np.unique(evidence.item, return_index=True)
    towards = evidence.towards_truth
    x = towards[first, evidence.n_humans :]
    if not evidence.n_humans:
        return Items(items, x, np.zeros((len(items), 0)))
    n = 2 * (len(bounds) + 1)
    item, truth, signed = _judgments(evidence)
    column = categories(signed * truth, bounds)
    chosen = column >= 0
    cell = np.searchsorted(items, item[chosen]) * n + column[chosen]
    counts = np.bincount(cell, minlength=len(items) * n).reshape(len(items), n)
    return Items(items, x, counts.astype(float))


def _judgments(evidence: Evidence) -> tuple[Ints, Floats, Floats]:
    """Item, truth and signed confidence of each distinct judgment of a person."""
    h = evidence.n_humans
    if not h:
        return np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
    _, place = np.unique(evidence.trial[:, :h], return_index=True)
    row = place // h
    return evidence.item[row], evidence.truth[row], evidence.signed[:, :h].ravel()[place]


def not_copies(x: Floats) -> Ints:
    """Columns of x (items, m) in order, without those that are weighted sums of columns before them.

    A copy of a model, or a multiple of it, adds nothing to what it says. Within 1 % of its length counts as a copy.

    >>> not_copies(np.array([[1.0, 2, 0], [2, 4, 1], [3, 6, 5]])).tolist()
    [0, 2]
    """
    independent: list[int] = []
    for j in range(x.shape[1]):
        if independent and x[:, j].any():
            weights = np.linalg.lstsq(x[:, independent], x[:, j], rcond=None)[0]
            left = x[:, j] - x[:, independent] @ weights
            if np.linalg.norm(left) <= COPY * np.linalg.norm(x[:, j]):
                continue
        independent.append(j)
    return np.array(independent, dtype=np.int64)


def need_spread(items: Items, names: Sequence[str]) -> None:
    """Raises NotEnough where a scale cannot be learned: too few items, or a model's evidence the same on all but one."""
    n, m = items.x.shape
    if n < m + 2:
        raise NotEnough(
            f"There are only {n} test cases for {m} {'model' if m == 1 else 'models'}.",
            "Estimating correlations of models needs at least two more test cases than models.",
        )
    for j, name in enumerate(names):
        alike = int(np.unique(items.x[:, j], return_counts=True)[1].max())
        if alike >= n - 1:
            raise NotEnough(
                f"The evidence of {name} towards the original is the same on {'all' if alike == n else 'all but one'} of {n} "
                "test cases.",
                "The fit needs evidence that varies. Choose other members, or use more test cases.",
            )
    if items.n_levels and not items.counts.any():
        raise NotEnough("No person chose a side in these trials.", "At least one choice is needed.")


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
    "Normal priors (mean; standard deviation): people's shift (0; 1), logarithm of the first cut-point (log 0.5; "
    "1) and of each step to the next (log 0.7; 1), weights of the models' evidence in people's (0; 0.5), logarithm "
    "of the evidence about a test case that people share (log 0.5; 1), models' sensitivity (0; 1), logarithm of a "
    "model's scale in its units (0; 3) and of the power of its evidence (0; 0.5), inverse hyperbolic tangent of "
    "partial correlations among models (0; 0.5)."
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
        """Names of the entries of theta."""
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
