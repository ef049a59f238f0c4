"""The same model sampled by NUTS: slow and independent, to hold the product's engine against.

It shares priors and names with `model`, but not the likelihood: it is written anew in JAX, and what people share about an item
(u) is drawn with the parameters instead of integrated. So the two agree only if likelihood, quadrature and importance sampling
are all right.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax import Array
from jax.lax import erfc
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from numpyro.infer import MCMC, NUTS

from analysis.stats.arrays import Floats
from analysis.teams.domain.bayes.likelihood import LEAST, MOST_LOG_Z
from analysis.teams.domain.bayes.model import (
    MOST_PARTIAL,
    Items,
    Layout,
    count,
    level_bounds,
    need_spread,
    not_copies,
    ratings,
)
from analysis.teams.domain.bayes.posterior import summaries
from analysis.teams.domain.evidence import Evidence
from analysis.teams.results import Posterior

MOST_R_HAT, LEAST_ESS = 1.02, 400.0
TARGET_ACCEPTANCE = 0.9


@dataclass(frozen=True)
class NutsDiagnostics:
    """r_hat (split chains) and ess per entry of theta; n_divergences among all draws.

    converged: no R-hat above 1.02, no effective sample size below 400, and no transition diverged.
    """

    converged: bool
    n_draws: int
    n_divergences: int
    r_hat_max: float
    ess_min: float
    r_hat: dict[str, float]
    ess: dict[str, float]


@dataclass(frozen=True)
class NutsPosterior:
    """theta: (chains x draws, p), chain after chain; log_weights: all alike, as in posterior.WeightedDraws.

    models: names of the models in the order of theta; level_bounds as in items.level_bounds.
    """

    layout: Layout
    theta: Floats
    log_weights: Floats
    diagnostics: NutsDiagnostics
    models: tuple[str, ...]
    level_bounds: tuple[float, ...]

    def summaries(self) -> Mapping[str, Posterior]:
        """Under the same names as those of the product's engine."""
        return summaries(self.layout, self.theta, np.exp(self.log_weights))


def sample(
    evidence: Evidence,
    *,
    n_levels: int = 3,
    has_powers: bool = True,
    chains: int = 4,
    draws: int = 500,
    warmup: int = 500,
    seed: int = 42,
    progress: bool = False,
) -> NutsPosterior:
    """Posterior draws of the model in `model` given all items. Models that repeat others are left out, as in Bayesian.

    n_levels: of people's confidence at most; has_powers: as in Layout. With the same two, Bayesian has the same model. `warmup`
    draws of each chain adapt the sampler and are dropped; `progress` shows a bar on stderr. Chains run side by side in one
    thread, in double precision.
    Raises NotEnough where a model's evidence does not vary, or there are too few items for the models.
    """
    _, first = np.unique(evidence.item, return_index=True)
    independent = not_copies(evidence.towards_truth[first, evidence.n_humans :])
    bounds = level_bounds(ratings(evidence), n_levels)
    everything = count(evidence, bounds)
    items = Items(everything.item, everything.x[:, independent], everything.counts)
    models = [evidence.members[evidence.n_humans + k] for k in independent]
    need_spread(items, [m.display_name for m in models])
    layout = Layout(len(independent), items.n_levels, has_powers)
    theta, diverging = _run(layout, items, chains, draws, warmup, seed, progress)
    found = diagnose(theta, layout.names, int(diverging.sum()))
    flat = theta.reshape(chains * draws, -1)
    equal = np.full(len(flat), -np.log(len(flat)))
    return NutsPosterior(layout, flat, equal, found, tuple(m.name for m in models), bounds)


def diagnose(theta: Floats, names: tuple[str, ...], n_divergences: int) -> NutsDiagnostics:
    """R-hat of split chains and effective sample sizes of theta (chains, draws, p); Gelman et al. 2013, BDA3, 11.4 and 11.5.

    At least 4 draws of each chain.
    """
    r_hat = dict(zip(names, np.atleast_1d(split_gelman_rubin(theta)).tolist(), strict=True))
    ess = dict(zip(names, np.atleast_1d(effective_sample_size(theta)).tolist(), strict=True))
    worst, least = max(r_hat.values()), min(ess.values())
    return NutsDiagnostics(
        converged=worst <= MOST_R_HAT and least >= LEAST_ESS and not n_divergences,
        n_draws=theta.shape[0] * theta.shape[1],
        n_divergences=n_divergences,
        r_hat_max=worst,
        ess_min=least,
        r_hat=r_hat,
        ess=ess,
    )


def _run(
    layout: Layout,
    items: Items,
    chains: int,
    draws: int,
    warmup: int,
    seed: int,
    progress: bool,
) -> tuple[Floats, Floats]:
    """theta (chains, draws, p), and whether each transition diverged (chains, draws)."""
    # Double precision here alone: switched on for good, it would change whatever else uses jax in this process
    with jax.enable_x64(True):
        mcmc = MCMC(
            NUTS(_model(layout, items), target_accept_prob=TARGET_ACCEPTANCE),
            num_warmup=warmup,
            num_samples=draws,
            num_chains=chains,
            chain_method="vectorized",
            progress_bar=progress,
        )
        mcmc.run(jax.random.PRNGKey(seed), extra_fields=("diverging",))
        theta = np.asarray(mcmc.get_samples(group_by_chain=True)["theta"], dtype=np.float64)
        diverging = np.asarray(mcmc.get_extra_fields(group_by_chain=True)["diverging"])
    return theta, diverging


def _model(layout: Layout, items: Items) -> Any:
    """The NumPyro model: theta and u with their priors, and the items' evidence and answers as a factor."""
    m = layout.n_models
    prior = dist.Normal(jnp.asarray(layout.prior_mean), jnp.asarray(layout.prior_sd)).to_event(1)
    sign, log_size = jnp.asarray(np.sign(items.x)), jnp.asarray(items.log_size)
    counts = jnp.asarray(items.counts)

    def model() -> None:
        theta = numpyro.sample("theta", prior)
        log_power = theta[layout.slices["log_power"]] if layout.has_powers else jnp.zeros(m)
        log_z = jnp.exp(log_power) * (log_size - theta[layout.slices["log_sigma"]])
        z = sign * jnp.exp(jnp.minimum(log_z, MOST_LOG_Z))
        d = theta[layout.slices["d"]]
        if m:
            factor = _cholesky(MOST_PARTIAL * jnp.tanh(theta[layout.slices["partial"]]), layout)
            density = dist.MultivariateNormal(d, scale_tril=factor).log_prob(z).sum()
            # dz / dx = power |z| / |x|
            numpyro.factor("evidence", density + (log_power + log_z - log_size).sum())
        if layout.n_levels:
            u = numpyro.sample("u", dist.Normal(0, 1).expand([len(items)]).to_event(1))
            mean = theta[0] + (z - d) @ theta[layout.slices["gamma"]]
            latent = mean + jnp.exp(theta[layout.slices["log_omega"]][0]) * u
            numpyro.factor("answers", (counts * _log_chances(theta, latent, layout)).sum())

    return model


def _log_chances(theta: Array, latent: Array, layout: Layout) -> Array:
    """(items, 2 K) log probabilities of the answers, in the order of Items.counts, of latent means (items,)."""
    steps = jnp.concatenate([theta[layout.slices["log_cut"]], theta[layout.slices["log_step"]]])
    cuts = jnp.cumsum(jnp.exp(steps))
    edges = jnp.concatenate([-cuts[::-1], jnp.zeros(1), cuts])
    below = erfc((latent[:, None] - edges) / np.sqrt(2)) / 2
    none, all_ = jnp.zeros((len(latent), 1)), jnp.ones((len(latent), 1))
    chance = jnp.diff(jnp.concatenate([none, below, all_], axis=1), axis=1)
    return jnp.log(jnp.maximum(chance, LEAST))


def _cholesky(partial: Array, layout: Layout) -> Array:
    """As model.cholesky_of, of one vector of partial correlations."""
    m = layout.n_models
    rows, columns = (np.array(places, dtype=np.int64) for places in layout.pairs)
    p = jnp.zeros((m, m)).at[rows, columns].set(partial)
    left = jnp.sqrt(jnp.cumprod(1 - p**2, axis=1))
    before = jnp.concatenate([jnp.ones((m, 1)), left[:, :-1]], axis=1)
    return jnp.tril((p + jnp.eye(m)) * before)
