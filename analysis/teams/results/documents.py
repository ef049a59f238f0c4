"""What a trial of chosen teams and the report hold."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from analysis.data.dataset import Participants, StudyName
from analysis.stats import MissingResult
from analysis.teams.options import TeamOptions
from analysis.teams.results.fits import FoldsKind, Method
from analysis.teams.results.keys import FLATTENED
from analysis.teams.results.members import MemberResult, Team
from analysis.teams.results.policies import ChosenPolicy, PolicyPoint, Sizes
from analysis.teams.results.team import AddingHuman, NotPossible, TeamResult


@dataclass(frozen=True)
class Ratings:
    """How people's confidence was taken: n_empty ratings that nothing is recorded of count as the `median`."""

    n_empty: int
    median: float
    rule: str


@dataclass(frozen=True, kw_only=True)
class TeamResults(ABC):
    """What the report and a trial of chosen teams have in common.

    n_left_out: trials on test cases that not all members judged. folds_of: method -> what was held out, in words.
    measures: field -> what it means. multiplicity, method, policies_method: how it was computed, in words.
    """

    n_trials: int
    n_items: int
    n_participants: int
    n_left_out: int
    members: tuple[MemberResult, ...]
    ratings: Ratings
    folds: str
    folds_kind: FoldsKind
    folds_of: Mapping[str, str]
    policies: tuple[PolicyPoint, ...]
    policies_chosen: tuple[ChosenPolicy, ...]
    policies_method: str
    adding_human: tuple[AddingHuman, ...]
    not_possible: tuple[NotPossible, ...]
    resamples: int
    seed: int
    measures: Mapping[str, str]
    multiplicity: str
    method: str

    @abstractmethod
    def by_method(self) -> dict[Method, tuple[TeamResult, ...]]:
        """Members by themselves under `alone`, teams under their method; methods without teams are absent."""


@dataclass(frozen=True, kw_only=True)
class TriedTeams(TeamResults):
    """Chosen teams. shortened: in words, which teams of those asked for were not tried; "" where all were."""

    teams: tuple[TeamResult, ...]
    shortened: str

    def by_method(self) -> dict[Method, tuple[TeamResult, ...]]:
        return _grouped(self.teams)


@dataclass(frozen=True)
class TeamsDocument:
    """teams.json and `team --json`. made_at: ISO 8601 with offset."""

    schema: str
    schema_version: int
    study: StudyName
    made_at: str
    data_version: str
    options: TeamOptions
    participants: Participants
    source: str
    tried: TriedTeams = field(metadata=FLATTENED)


@dataclass(frozen=True, kw_only=True)
class TeamingResult(TeamResults):
    """`teaming` of a report: the teams of a panel (names of members) by every method, and of each other model with a human.

    logistic: members by themselves too, and two people together, where these judged the same test cases.
    """

    panel: tuple[str, ...]
    panel_rule: str
    logistic: tuple[TeamResult, ...]
    improved: tuple[TeamResult, ...]
    bayesian: tuple[TeamResult, ...]
    majority: tuple[TeamResult, ...]
    most_confident: tuple[TeamResult, ...]
    average: tuple[TeamResult, ...]
    sizes: Sizes | MissingResult

    def by_method(self) -> dict[Method, tuple[TeamResult, ...]]:
        rows = (self.logistic, self.improved, self.bayesian, self.majority, self.most_confident, self.average)  # fmt: skip
        return _grouped(tuple(row for of_one in rows for row in of_one))

    def is_of_panel(self, team: Team) -> bool:
        """Whether all its members are of the panel, any people counting as such."""
        return all(m.is_human or m.name in self.panel for m in team.members)


def _grouped(rows: tuple[TeamResult, ...]) -> dict[Method, tuple[TeamResult, ...]]:
    found: dict[Method, tuple[TeamResult, ...]] = {}
    for row in rows:
        found[row.method] = (*found.get(row.method, ()), row)
    return found
