"""What people read of a Bayesian fit: sensitivities, accuracies, correlations, from draws of the parameters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.stats.arrays import Floats
from analysis.teams.domain.bayes.model import Layout, Parameters
from analysis.teams.results import MemberKind, Posterior, Quantity

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
                return "correlation of two people on an item, given the truth"
            case Quantity.CORRELATION:
                return f"correlation of {who[0]} and {who[1]}, given the truth"
            case Quantity.SENSITIVITY:
                return f"sensitivity (d) of {who[0]}"
            case Quantity.ACCURACY:
                return f"accuracy of {who[0]}"
            case Quantity.SCALE:
                return f"evidence of {who[0]}, in its units, that counts as one standard deviation"
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
    people = _of_people(at, r) if layout.n_levels else ()
    return [*people, *_of_models(layout, at, r)]


def _of_people(at: Parameters, r: Floats) -> Iterator[Derived]:
    with_models = np.einsum("bjk,bk->bj", r, at.gamma)
    shared = (with_models * at.gamma).sum(axis=1) + at.omega**2
    s = np.sqrt(shared + 1)
    yield Derived(Quantity.SENSITIVITY, at.delta / s, 1)
    yield Derived(Quantity.ACCURACY, special.ndtr(at.delta / s), 1)
    for k, cut in enumerate(at.cuts.T):
        yield Derived(Quantity.CUT, cut / s, 1, number=k + 1)
    yield Derived(Quantity.CORRELATION, shared / s**2, 2)
    for j, rho in enumerate(with_models.T):
        yield Derived(Quantity.CORRELATION, rho / s, 1, (j,))


def _of_models(layout: Layout, at: Parameters, r: Floats) -> Iterator[Derived]:
    for j in range(layout.n_models):
        yield Derived(Quantity.SENSITIVITY, at.d[:, j], models=(j,))
        yield Derived(Quantity.ACCURACY, special.ndtr(at.d[:, j]), models=(j,))
        yield Derived(Quantity.SCALE, at.sigma[:, j], models=(j,))
        if layout.has_powers:
            yield Derived(Quantity.POWER, at.power[:, j], models=(j,))
    for i, j in zip(*layout.pairs, strict=True):
        yield Derived(Quantity.CORRELATION, r[:, i, j], models=(j, i))


def summaries(layout: Layout, theta: Floats, weights: Floats) -> Mapping[str, Posterior]:
    """Of each quantity, by its name."""
    return {of.name: of.summary(weights) for of in derived(layout, theta)}


def quantiles(values: Floats, weights: Floats, shares: Sequence[float]) -> list[float]:
    """Weighted quantiles: between draws, the middle of a draw's weight counts as its place.

    >>> quantiles(np.array([3.0, 1, 2]), np.ones(3) / 3, (0.5, 2 / 3))
    [2.0, 2.5]
    """
    order = np.argsort(values)
    place = np.cumsum(weights[order]) - 0.5 * weights[order]
    return [float(q) for q in np.interp(shares, place, values[order])]
