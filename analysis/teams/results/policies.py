"""Who decides where a person can be asked, and how large teams do."""

from dataclasses import dataclass, field
from enum import StrEnum

from analysis.stats.arrays import Interval
from analysis.teams.results.keys import FLATTENED_MODEL
from analysis.teams.results.members import Team


class Policy(StrEnum):
    """Who decides where a person is asked: the person, or both together."""

    HUMAN = "human"
    TEAM = "team"


@dataclass(frozen=True)
class PolicyPoint:
    """Accuracy and cost where a person is asked on the share of trials on which `team` (models) is least certain.

    share: wished for; share_asked: reached. threshold: asked where certainty is below it.
    random_accuracy: expected, were as many trials drawn at random. cost: people's judgments per trial.
    """

    team: Team = field(metadata=FLATTENED_MODEL)
    policy: Policy
    share: float
    share_asked: float
    threshold: float
    n_asked: int
    n_trials: int
    n_correct: int
    accuracy: float
    random_accuracy: float
    cost: float
    accuracy_ci95: Interval | None


@dataclass(frozen=True)
class ChosenPolicy:
    """What a threshold found on training trials does on others; folds: in words what was held out.

    threshold: median over the folds. gain: accuracy less that of the models (`team`) alone.
    """

    team: Team = field(metadata=FLATTENED_MODEL)
    policy: Policy
    threshold: float
    share_asked: float
    n_asked: int
    n_trials: int
    n_correct: int
    accuracy: float
    cost: float
    folds: str
    accuracy_ci95: Interval | None
    gain: float
    gain_ci95: Interval | None


@dataclass(frozen=True)
class SizeCell:
    """Teams of n_humans people and n_models models; n_draws: choices of members that were drawn, 0 where all were tried."""

    n_humans: int
    n_models: int
    accuracy: float
    n_items: int
    n_draws: int
    accuracy_ci95: Interval | None


@dataclass(frozen=True)
class Sizes:
    """Expected accuracy by how many people and models are in a team."""

    n_items: int
    max_humans: int
    max_models: int
    cells: tuple[SizeCell, ...]
    method: str
