"""How a way of combining was fitted to a team."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from analysis.stats.arrays import Interval
from analysis.teams.results.keys import LEFT_OUT
from analysis.teams.results.members import MemberKind


class Method(StrEnum):
    """A way of combining; `alone` is a member by itself."""

    LOGISTIC = "logistic"
    IMPROVED = "improved"
    BAYESIAN = "bayesian"
    MAJORITY = "majority"
    MOST_CONFIDENT = "most-confident"
    AVERAGE = "average"
    ALONE = "alone"


class FoldsKind(StrEnum):
    """What is held out at a time."""

    ITEM = "item"
    ITEM_BLOCK = "item_block"
    ITEM_AND_PEOPLE_BLOCK = "item_and_people_block"


@dataclass(frozen=True)
class About:
    """How a way of combining was fitted to a team; `rule`: in words."""

    rule: str


@dataclass(frozen=True)
class LogisticAbout(About):
    """Means over the folds: intercept, and weights of the people together (if any) and of each model."""

    intercept: float
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Penalties:
    """Penalty chosen -> in how many folds; participants: None in teams of models."""

    weights: Mapping[str, int]
    participants: Mapping[str, int] | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class ImprovedAbout(About):
    """Means over the folds of each feature's weight, and the penalties that were chosen within them."""

    features: tuple[str, ...]
    weights: tuple[float, ...]
    penalties: Penalties
    n_folds: int


class Quantity(StrEnum):
    """What a number of the Bayesian fit is."""

    SENSITIVITY = "d"
    ACCURACY = "accuracy"
    CUT = "cut"
    CORRELATION = "rho"
    SCALE = "sigma"
    POWER = "power"


@dataclass(frozen=True)
class Posterior:
    """Mean, standard deviation and central 95% interval of a quantity; member_kinds: whose it is, two in correlations."""

    mean: float
    sd: float
    ci95: Interval
    quantity: Quantity
    member_kinds: tuple[MemberKind, ...]


@dataclass(frozen=True)
class BayesianDiagnostics:
    """converged: the mode was found, and the effective sample size `ess` of n_draws is at least a fifth of them.

    gradient_norm: length of the gradient at the mode, in standard deviations of the parameters. n_rounds of sampling.
    """

    engine: str
    converged: bool
    gradient_norm: float
    n_draws: int
    ess: float
    ess_share: float
    n_rounds: int


@dataclass(frozen=True)
class BayesianAbout(About):
    """posterior, parameters: names of quantities -> numbers, and what they are in words. models: names in their order.

    cut_points: of people's confidence; level_bounds: the highest ratings of all its n_levels but the last. n_refitted of
    n_folds folds had a fit of their own.
    """

    priors: str
    posterior: Mapping[str, Posterior]
    parameters: Mapping[str, str]
    models: tuple[str, ...]
    copies_left_out: tuple[str, ...]
    cut_points: tuple[Posterior, ...]
    n_levels: int
    level_bounds: tuple[float, ...]
    diagnostics: BayesianDiagnostics
    n_refitted: int
    n_folds: int

    @property
    def pair_correlation(self) -> Posterior | None:
        """Of a pair, what the members' latent evidence has in common; of larger teams, the first members' correlation."""
        found = [p for p in self.posterior.values() if p.quantity == Quantity.CORRELATION]
        mixed = [p for p in found if MemberKind.MODEL in p.member_kinds]
        return next(iter(mixed or found), None)
