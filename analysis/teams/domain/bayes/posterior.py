"""The posterior of the model of correlated judgments: its mode by Newton's method, importance sampling around it, and what is said of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from analysis.stats.arrays import Floats
from analysis.teams.domain.bayes.likelihood import gradient, log_likelihood
from analysis.teams.domain.bayes.model import Items, Layout
from analysis.teams.results import BayesianDiagnostics, MemberKind, Posterior, Quantity

ENDS = (0.025, 0.975)


@dataclass(frozen=True)
class Derived:
    """Draws (B,) of a quantity: of a person and of these models, numbered from 0 in the order of the evidence.

    number: which of several cut-points, from 1.
    """

    quantity: Quantity
    values: Floats
    n_people: int = 0
    models: tuple[int, ...] = ()
    number: int = 0

    @property
    def name(self) -> str:
        """
        >>> Derived(Quantity.CORRELATION, np.zeros(1), 1, (0,)).name
        'rho_human_model_1'
        """
        if self.quantity == Quantity.CUT:
            return f"cut_{self.number}"
        people = ["human"] * self.n_people
        models = ["model", *(str(k + 1) for k in self.models)] if self.models else []
        return "_".join([self.quantity, *people, *models])

    def described(self, models: Sequence[str]) -> str:
        """In words; `models` are all models' names as people read them."""
        who = ["a person"] * self.n_people + [models[k] for k in self.models]
        match self.quantity:
            case Quantity.CUT:
                return f"cut-point {self.number} of people's confidence, in standard deviations of their evidence"
            case Quantity.CORRELATION if self.n_people > 1:
                return "correlation of two people on a test case, given the truth"
            case Quantity.CORRELATION:
                return f"correlation of {who[0]} and {who[1]}, given the truth"
            case Quantity.SENSITIVITY:
                return f"sensitivity (d) of {who[0]}"
            case Quantity.ACCURACY:
                return f"accuracy of {who[0]}"
            case Quantity.SCALE:
                return f"evidence of {who[0]}, in its units, that equals one standard deviation"
            case Quantity.POWER:
                return f"power to which the evidence of {who[0]} is raised"

    def summary(self, weights: Floats) -> Posterior:
        """With weights (B,) that add up to 1."""
        kinds = (MemberKind.HUMAN,) * self.n_people + (MemberKind.MODEL,) * len(self.models)
        mean = float(weights @ self.values)
        low, high = quantiles(self.values, weights, ENDS)
        sd = float(np.sqrt(weights @ (self.values - mean) ** 2))
        return Posterior(mean, sd, (low, high), self.quantity, kinds)


def derived(layout: Layout, theta: Floats) -> list[Derived]:
    """The quantities of theta (B, p), all given the truth.

    With s^2 = gamma'R gamma + omega^2 + 1, the variance of people's latent evidence: a person's sensitivity d = delta / s
    and accuracy Phi(d), cut-points c_k / s, correlation with model j (R gamma)_j / s, of two people (gamma'R gamma +
    omega^2) / s^2. Of models: d_j, accuracy Phi(d_j), sigma_j the evidence, in its units, for which z is 1, its power, if
    there is one, and R_jk.

    >>> one = derived(Layout(0, 1), np.array([[2.0, np.log(np.sqrt(3))]]))
    >>> {d.name: float(d.values[0].round(6)) for d in one}
    {'d_human': 1.0, 'accuracy_human': 0.841345, 'rho_human_human': 0.75}
    """
    at = layout.unpack(theta)
    r = at.cholesky @ at.cholesky.transpose(0, 2, 1)
    found: list[Derived] = []
    if layout.n_levels:
        with_models = np.einsum("bjk,bk->bj", r, at.gamma)
        shared = (with_models * at.gamma).sum(axis=1) + at.omega**2
        s = np.sqrt(shared + 1)
        found.append(Derived(Quantity.SENSITIVITY, at.delta / s, 1))
        found.append(Derived(Quantity.ACCURACY, special.ndtr(at.delta / s), 1))
        cuts = enumerate(at.cuts.T, start=1)
        found += [Derived(Quantity.CUT, cut / s, 1, number=k) for k, cut in cuts]
        found.append(Derived(Quantity.CORRELATION, shared / s**2, 2))
        for j, rho in enumerate(with_models.T):
            found.append(Derived(Quantity.CORRELATION, rho / s, 1, (j,)))
    for j in range(layout.n_models):
        found.append(Derived(Quantity.SENSITIVITY, at.d[:, j], models=(j,)))
        found.append(Derived(Quantity.ACCURACY, special.ndtr(at.d[:, j]), models=(j,)))
        found.append(Derived(Quantity.SCALE, at.sigma[:, j], models=(j,)))
        if layout.has_powers:
            found.append(Derived(Quantity.POWER, at.power[:, j], models=(j,)))
    for i, j in zip(*layout.pairs, strict=True):
        found.append(Derived(Quantity.CORRELATION, r[:, i, j], models=(j, i)))
    return found


def summaries(layout: Layout, theta: Floats, weights: Floats) -> Mapping[str, Posterior]:
    """Summary of each quantity, by its name."""
    return {of.name: of.summary(weights) for of in derived(layout, theta)}


def quantiles(values: Floats, weights: Floats, shares: Sequence[float]) -> list[float]:
    """Weighted quantiles: between draws, the middle of a draw's weight counts as its place.

    >>> quantiles(np.array([3.0, 1, 2]), np.ones(3) / 3, (0.5, 2 / 3))
    [2.0, 2.5]
    """
    order = np.argsort(values)
    place = np.cumsum(weights[order]) - 0.5 * weights[order]
    return [float(q) for q in np.interp(shares, place, values[order])]


ENGINE = "laplace-importance"
MAX_STEPS, TOLERANCE, DIFFERENCE = 60, 1e-8, 1e-4
LONGEST_STEP = 2.0  # of any parameter at once: all have unit-like scales but log sigma, which starts near its place
SHARES = 0.5 ** np.arange(12)
LEAST_ESS = 0.2  # share of the draws
ROUNDS = 6


@dataclass(frozen=True)
class Mode:
    """theta (p,), covariance (p, p) of the normal approximation there, gradient_norm as in BayesianDiagnostics."""

    theta: Floats
    covariance: Floats
    gradient_norm: float
    found: bool


@dataclass(frozen=True)
class WeightedDraws:
    """Weighted draws: theta (S, p), log_weights (S,) whose exponentials add up to 1.

    item_log_likelihood: (S, items) of the items the fit was on.
    """

    layout: Layout
    theta: Floats
    log_weights: Floats
    item_log_likelihood: Floats
    mode: Mode
    diagnostics: BayesianDiagnostics

    @property
    def weights(self) -> Floats:
        """(S,)."""
        return np.asarray(np.exp(self.log_weights))


def ess(log_weights: Floats) -> Floats:
    """Effective sample sizes 1 / sum of squared weights, along the first axis; weights need not add up to 1.

    >>> float(ess(np.log(np.array([1.0, 1, 0.0001]))).round(3))
    2.0
    """
    total = special.logsumexp(log_weights, axis=0)
    return np.asarray(np.exp(2 * total - special.logsumexp(2 * log_weights, axis=0)))


def log_density(layout: Layout, theta: Floats, items: Items) -> Floats:
    """(B,) unnormalised log posterior density of theta (B, p)."""
    density: Floats = layout.log_prior(theta) + log_likelihood(layout, theta, items).sum(axis=1)
    return density


def start_of(layout: Layout, items: Items) -> Floats:
    """(p,) a place to start from: the prior's means, with each model's d and scale from its evidence."""
    theta = layout.prior_mean.copy()
    sd = np.maximum(items.x.std(axis=0), 1e-6 * np.abs(items.x).max(axis=0, initial=1e-300))
    theta[layout.slices["log_sigma"]] = np.log(sd)
    theta[layout.slices["d"]] = np.clip(items.x.mean(axis=0) / sd, -4, 4)
    return theta


def mode_of(layout: Layout, items: Items, start: Floats | None = None) -> Mode:
    """The highest posterior density by Newton's method; curvature by central differences of the gradient.

    Along directions of upward curvature the step is as if it were downward; of 12 halvings of the step the best counts.
    analysis.stats.newton takes as long, but stops up to 7e-5 posterior standard deviations away, which would move all draws.
    """
    theta = start_of(layout, items) if start is None else start
    before = log_density(layout, theta[None], items)[0]
    shifts = DIFFERENCE * np.eye(len(theta))
    around = np.concatenate([np.zeros((1, len(theta))), shifts, -shifts])
    for _ in range(MAX_STEPS):
        slopes = gradient(layout, theta + around, items)
        slopes -= (theta + around - layout.prior_mean) / layout.prior_sd**2
        slope, ahead, behind = slopes[0], *np.split(slopes[1:], 2)
        curvature = (behind - ahead) / (2 * DIFFERENCE)
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
        covariance = (vectors / np.maximum(np.abs(values), 1e-3)) @ vectors.T
        step = covariance @ slope
        decrement = float(slope @ step)
        if decrement < TOLERANCE:
            break
        step *= min(1.0, LONGEST_STEP / np.abs(step).max())
        tried = theta + SHARES[:, None] * step
        # One evaluation is enough where the whole step is good
        after = log_density(layout, tried[:1], items)
        if not after[0] > before + 0.1 * min(decrement, 1.0):
            after = log_density(layout, tried, items)
        best = int(np.argmax(after))
        if not after[best] > before:
            break
        theta, before = tried[best], after[best]
    return Mode(theta, covariance, float(np.sqrt(decrement)), decrement < 1e-4)


def fit(
    layout: Layout,
    items: Items,
    *,
    draws: int = 1000,
    seed: int = 42,
    near: Mode | None = None,
) -> WeightedDraws:
    """The posterior given these items; `near` is the mode of a fit on nearly the same items.

    Draws come from a multivariate t around the mode. While their effective size is below a fifth of them, up to 5 times,
    they are drawn anew around their weighted mean with their weighted covariance; the best round counts.
    """
    mode = mode_of(layout, items, near.theta if near else None)
    rng = np.random.default_rng(seed)
    centre, covariance = mode.theta, mode.covariance
    rounds: list[WeightedDraws] = []
    while len(rounds) < ROUNDS:
        theta, log_q = _draw(centre, covariance, draws, rng)
        items_log = log_likelihood(layout, theta, items)
        log_weights = layout.log_prior(theta) + items_log.sum(axis=1) - log_q
        log_weights -= special.logsumexp(log_weights)
        size = float(ess(log_weights))
        enough = size >= LEAST_ESS * draws
        diagnostics = BayesianDiagnostics(
            ENGINE,
            mode.found and enough,
            mode.gradient_norm,
            draws,
            size,
            size / draws,
            len(rounds) + 1,
        )
        rounds.append(WeightedDraws(layout, theta, log_weights, items_log, mode, diagnostics))
        if diagnostics.ess_share >= LEAST_ESS:
            break
        # From few effective draws, partly the covariance before
        weights = np.exp(log_weights)
        centre = weights @ theta
        off = theta - centre
        share = size / (size + 2 * theta.shape[1])
        drawn = off.T @ (weights[:, None] * off)
        covariance = share * drawn + (1 - share) * covariance
    best = max(rounds, key=lambda found: found.diagnostics.ess)
    return replace(best, diagnostics=replace(best.diagnostics, n_rounds=len(rounds)))


def _draw(
    centre: Floats, covariance: Floats, n: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """(n, p) draws of a multivariate t with 5 degrees of freedom, more in many dimensions, and their log densities."""
    p = len(centre)
    df = max(5.0, 2.0 * p)
    factor = np.linalg.cholesky(covariance)
    normal = rng.standard_normal((n, p))
    scale = np.sqrt(df / rng.chisquare(df, n))
    theta = centre + scale[:, None] * (normal @ factor.T)
    distance = scale**2 * (normal**2).sum(axis=1)
    constant = special.gammaln((df + p) / 2) - special.gammaln(df / 2) - p / 2 * np.log(df * np.pi)
    constant -= np.log(np.diag(factor)).sum()
    return theta, np.asarray(constant - (df + p) / 2 * np.log1p(distance / df))
