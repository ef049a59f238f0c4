"""Results of trying teams, as typed objects; `analysis.codec` makes JSON of them and back.

Shares are from 0 to 1, intervals (low, high) of 95%, log losses in nats. Long: all types of one document.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from analysis.data.about import Participants, StudyName
from analysis.stats import MissingResult
from analysis.stats.arrays import Interval
from analysis.stats.verdicts import HOLM, Concludes, Verdict
from analysis.teams.options import TeamOptions
from lib.levels import ENOUGH
from lib.points import RIGHT, TIE

# From so many test cases on a team's held-out accuracy is within 10 points of what it is on other test cases in 19 of 20
# simulated studies: docs/results.md
FEWEST_ITEMS = 60
NEEDED = f"{ENOUGH} participants, {FEWEST_ITEMS} test cases"
ONE_FAMILY = "all comparisons of teams, an equal share for each question"


def verdict_of(
    difference: float, p: float | None, n_items: int, n_participants: int
) -> Verdict | None:
    """Verdict on a difference between teams with its corrected p; None where there are enough rows and yet no p, as near chance.

    n_participants: 0 where rows are items. Too few below FEWEST_ITEMS: a team that is fitted to so few items varies more than its
    intervals show, which keep the held-out predictions as they are.
    """
    n = min(n_items, n_participants) if n_participants else n_items
    n = n if n_items >= FEWEST_ITEMS else 0
    return None if p is None and n >= ENOUGH else Verdict.of(difference, p, n)


class MemberKind(StrEnum):
    HUMAN = "human"
    MODEL = "model"


@dataclass(frozen=True)
class Member:
    """`name`: human, human-2, ... for people (any participants, not chosen ones), else a language model's name.

    method: how the model took the test, perplexity or choice; "" of people.
    """

    name: str
    kind: MemberKind
    display_name: str
    family: str = ""
    method: str = ""

    @property
    def is_human(self) -> bool:
        return self.kind == MemberKind.HUMAN


@dataclass(frozen=True)
class Team:
    """`members`: people first. label: their names joined by "+", for tables and files; nothing is read out of it.

    names and display_name follow from the members, but for a team that is chosen anew in each fold, which has none.
    """

    label: str
    names: tuple[str, ...]
    display_name: str
    members: tuple[Member, ...]

    @classmethod
    def of(cls, members: tuple[Member, ...]) -> "Team":
        """
        >>> people = Member("human", MemberKind.HUMAN, "Human")
        >>> adapter = Member("org/base + org/adapter", MemberKind.MODEL, "Tuned")
        >>> team = Team.of((people, adapter))
        >>> team.label, team.display_name, len(team)
        ('human+org/base + org/adapter', 'Human + Tuned', 2)
        """
        names = tuple(m.name for m in members)
        shown = " + ".join(m.display_name for m in members)
        return cls("+".join(names), names, shown, members)

    def __len__(self) -> int:
        return len(self.members)

    @property
    def humans(self) -> tuple[Member, ...]:
        return tuple(m for m in self.members if m.is_human)

    @property
    def models(self) -> tuple[Member, ...]:
        return tuple(m for m in self.members if not m.is_human)


@dataclass(frozen=True)
class MemberResult:
    """How a member does by itself on the teams' trials.

    n_correct, n_ties and accuracy are None for a model that is left out, having missed n_missing of the judged test cases.
    """

    name: str
    kind: MemberKind
    display_name: str
    family: str
    method: str
    n_correct: int | None
    n_ties: int | None
    accuracy: float | None
    n_missing: int

    @property
    def member(self) -> Member:
        return Member(self.name, self.kind, self.display_name, self.family, self.method)


class Method(StrEnum):
    """A way of combining; `alone` is a member by itself."""

    LOGISTIC = "logistic"
    AS_PUBLISHED = "as-published"
    BAYESIAN = "bayesian"
    MAJORITY = "majority"
    MOST_CONFIDENT = "most-confident"
    AVERAGE = "average"
    ALONE = "alone"


class FoldsKind(StrEnum):
    """Unit that is held out at a time."""

    ITEM = "item"
    ITEM_BLOCK = "item_block"
    ITEM_AND_PEOPLE_BLOCK = "item_and_people_block"


@dataclass(frozen=True)
class About:
    """How a way of combining was fitted to a team; `rule`: in words."""

    rule: str


@dataclass(frozen=True)
class AsPublishedAbout(About):
    """Means over the folds: intercept, and weights of the people together (if any) and of each model."""

    intercept: float
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Penalties:
    """Penalty chosen -> in how many folds; participants: None in teams of models."""

    weights: Mapping[str, int]
    participants: Mapping[str, int] | None = None


@dataclass(frozen=True)
class LogisticAbout(About):
    """Means over the folds of each feature's weight, and the penalties that were chosen within them.

    n_folds in each of n_partitions random divisions of the test cases; accuracy_by_partition: the lowest and the highest by one of them.
    left_out: names of models that favour one side by the same amount everywhere.
    """

    features: tuple[str, ...]
    weights: tuple[float, ...]
    penalties: Penalties
    n_folds: int
    n_partitions: int
    accuracy_by_partition: Interval
    left_out: tuple[str, ...] = ()


class Quantity(StrEnum):
    """Meaning of a number of the Bayesian fit."""

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
        """Correlation of the latent evidence of a pair of members; of larger teams, that of the first two."""
        found = [p for p in self.posterior.values() if p.quantity == Quantity.CORRELATION]
        mixed = [p for p in found if MemberKind.MODEL in p.member_kinds]
        return next(iter(mixed or found), None)


class Policy(StrEnum):
    """Policy where a person is asked: the person decides, or both together."""

    HUMAN = "human"
    TEAM = "team"


@dataclass(frozen=True)
class PolicyPoint:
    """Accuracy and cost where a person is asked on the share of trials on which `team` (models) is least certain.

    share: wished for; share_asked: reached. threshold: asked where certainty is below it.
    random_accuracy: expected, were as many trials drawn at random. cost: people's judgments per trial.
    """

    team: Team
    policy: Policy
    share: float
    share_asked: float
    threshold: float
    n_asked: int
    n_trials: int
    n_correct: int
    n_ties: int
    accuracy: float
    random_accuracy: float
    cost: float
    accuracy_ci95: Interval | None


@dataclass(frozen=True)
class ChosenPolicy:
    """Results on other trials of a threshold that was found on training trials; folds: in words what was held out.

    threshold: median over the folds. gain: accuracy less that of the models (`team`) alone; gain_p_holm as one of the family.
    """

    team: Team
    policy: Policy
    threshold: float
    share_asked: float
    n_asked: int
    n_trials: int
    n_correct: int
    n_ties: int
    accuracy: float
    cost: float
    folds: str
    accuracy_ci95: Interval | None
    gain: float
    gain_ci95: Interval | None
    gain_p: float | None
    gain_p_holm: float | None = None
    gain_verdict: Annotated[
        Verdict | None,
        Concludes(
            "whether asking where a model is not confident raises its accuracy",
            ONE_FAMILY,
            HOLM,
            NEEDED,
        ),
    ] = None


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


@dataclass(frozen=True)
class Tried:
    """A number of trials, and on how many of them the team was right, or tied."""

    n: int
    n_team_right: int
    n_team_ties: int

    @property
    def team_points(self) -> float:
        return RIGHT * self.n_team_right + TIE * self.n_team_ties

    @property
    def share_team_right(self) -> float | None:
        """Without ties."""
        return self.n_team_right / self.n if self.n else None


@dataclass(frozen=True)
class SomeRight(Tried):
    """n_majority: trials on which more than half of the members agree; n_follows_majority: the team chose as they did."""

    n_majority: int
    n_follows_majority: int


@dataclass(frozen=True)
class OnlyOne(Tried):
    """Trials on which of two members only `member` (a name) is right."""

    member: str


@dataclass(frozen=True)
class Pattern(Tried):
    """right: names of those who are right, in the order of members; None for more than six members. share: of all trials."""

    right: tuple[str, ...] | None
    n_right: int
    share: float


@dataclass(frozen=True)
class Complementarity:
    """The first three add up to all trials, and so do the patterns, of which only those that occur are listed.

    A member that ties is not right: none_right are trials on which each is wrong or ties, all_wrong those of them on which nobody ties.
    only_first, only_second: of pairs, trials on which that member alone is right; they add up to some_right.
    leader: name of the member that the team is right, wrong and ties with on all trials; None where there is none, or all members agree.
    """

    all_right: Tried
    some_right: SomeRight
    none_right: Tried
    all_wrong: Tried
    only_first: OnlyOne | None
    only_second: OnlyOne | None
    patterns: tuple[Pattern, ...]
    leader: str | None


@dataclass(frozen=True)
class NearChance:
    """Result of a team none of whose members can be told from chance: what such members would reach, and the p that holds.

    gain_p: two-sided, from n_flips random flips of which version of each item is the original; the *_by_chance95 are the
    central 95% over them. All None without flips: by a method whose fits would take too long, or with too many rows.
    left_out_*: of the published scheme, which is not used here: its accuracy, and the correlation of its held-out log-odds
    of side B with side B. Below 0, predictions run against the items that they are of.
    """

    n_flips: int = 0
    seed: int | None = None
    gain_p: float | None = None
    accuracy_by_chance95: Interval | None = None
    gain_by_chance95: Interval | None = None
    left_out_accuracy: float | None = None
    left_out_correlation: float | None = None

    @property
    def is_inverted(self) -> bool:
        """True if the published scheme predicts against its own items."""
        return self.left_out_correlation is not None and self.left_out_correlation < 0


@dataclass(frozen=True)
class TeamResult:
    """One team, or one member by itself, on held-out trials.

    n_participants: 0 where rows are items, which n_trials counts then. log_loss_nats: mean of -ln p(original); brier: mean
    of (1 - p(original))^2. Intervals are None where there is one item or one participant. best_member (a name), gain
    (accuracy of the team - that of the best member), complementarity: None for one member. gain_p_holm: over a family of gain_tests
    comparisons; gain_verdict follows from it. Interval and p of the gain follow from
    gain_se, two-way cluster-robust, with Student's t.
    """

    team: Team
    method: Method
    n_humans: int
    n_models: int
    n_trials: int
    n_items: int
    n_participants: int
    n_correct: int
    n_ties: int
    accuracy: float
    accuracy_ci95: Interval | None
    log_loss_nats: float
    log_loss_nats_ci95: Interval | None
    brier: float
    brier_ci95: Interval | None
    calibration_error: float
    calibration_error_ci95: Interval | None
    best_member: str | None
    best_member_accuracy: float | None
    gain: float | None
    gain_ci95: Interval | None
    gain_p: float | None
    gain_p_holm: float | None
    gain_tests: int | None
    gain_verdict: Annotated[
        Verdict | None,
        Concludes("whether a team is more accurate than its best member", ONE_FAMILY, HOLM, NEEDED),
    ]
    gain_se: float | None
    selector_accuracy: float
    selector_accuracy_ci95: Interval | None
    complementarity: Complementarity | None
    near_chance: NearChance | None
    about: LogisticAbout | AsPublishedAbout | BayesianAbout | About

    @property
    def correlation(self) -> Posterior | None:
        """Correlation of two members' latent evidence, by a Bayesian fit."""
        return self.about.pair_correlation if isinstance(self.about, BayesianAbout) else None

    @property
    def is_judged(self) -> bool:
        """True if rows are judged trials; else they are test cases."""
        return self.n_participants > 0 or self.n_humans > 0

    @property
    def best(self) -> Member | None:
        return next((m for m in self.team.members if m.name == self.best_member), None)

    @property
    def leader(self) -> Member | None:
        """The member whose choices the team's are on all trials, also where it ties."""
        name = self.complementarity.leader if self.complementarity else None
        return next((m for m in self.team.members if m.name == name), None)


@dataclass(frozen=True)
class Gain:
    """A difference of two accuracies on the same n trials.

    se is two-way cluster-robust; ci95 and p follow with Student's t. None where they are not defined.
    """

    value: float
    ci95: Interval | None
    p: float | None
    n: int
    se: float | None


@dataclass(frozen=True)
class AddingHuman:
    """Change by the person `added` to `team`: accuracy of the larger team less that of this one.

    with_human: the larger team's label. p_holm: over the n_tests comparisons of the family, from which the verdict follows.
    is_near_chance: true if no member of one of the two teams can be told from chance; the gain then has no interval and no p.
    """

    team: Team
    with_human: str
    added: Member
    method: Method
    gain: Gain
    n_items: int
    n_participants: int
    is_near_chance: bool = False
    p_holm: float | None = None
    n_tests: int | None = None
    verdict: Annotated[
        Verdict | None,
        Concludes(
            "whether one more person makes a team more accurate",
            ONE_FAMILY,
            HOLM,
            NEEDED,
        ),
    ] = None

    @property
    def larger_team(self) -> Team:
        return Team.of((*self.team.humans, self.added, *self.team.models))


@dataclass(frozen=True)
class NotPossible:
    """A team that could not be fitted, and what would be needed."""

    team: Team
    method: Method
    reason: str
    needed: str


@dataclass(frozen=True)
class Ratings:
    """How people's confidence was taken: n_empty ratings that nothing is recorded of count as the `median`."""

    n_empty: int
    median: float
    rule: str


@dataclass(frozen=True)
class FewItems:
    """A caution: n_items test cases are fewer than the `fewest` from which on a team's accuracy is informative."""

    n_items: int
    fewest: int

    @classmethod
    def of(cls, n_items: int) -> "FewItems | None":
        """
        >>> FewItems.of(30), FewItems.of(60)
        (FewItems(n_items=30, fewest=60), None)
        """
        return cls(n_items, FEWEST_ITEMS) if n_items < FEWEST_ITEMS else None


@dataclass(frozen=True, kw_only=True)
class TeamResults(ABC):
    """Common part of the report and of a trial of chosen teams.

    few_items: None where there are enough test cases for an accuracy to be read.
    n_left_out: trials on test cases that not all members judged. folds_of: method -> what was held out, in words.
    measures: field -> what it means. multiplicity, method, policies_method: how it was computed, in words.
    """

    n_trials: int
    n_items: int
    few_items: FewItems | None
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
    """Chosen teams. shortened: in words, which teams of those asked for were not tried; "" where all were.

    taken_twice: a caution: names of language models that are members both scored and asked.
    """

    teams: tuple[TeamResult, ...]
    shortened: str
    taken_twice: tuple[str, ...]

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
    tried: TriedTeams


@dataclass(frozen=True, kw_only=True)
class TeamingResult(TeamResults):
    """`teaming` of a report: the teams of a panel (names of members) by every method, and of each other model with a human.

    logistic: members by themselves too, and two people together, where these judged the same test cases.
    """

    panel: tuple[str, ...]
    panel_rule: str
    logistic: tuple[TeamResult, ...]
    as_published: tuple[TeamResult, ...]
    bayesian: tuple[TeamResult, ...]
    majority: tuple[TeamResult, ...]
    most_confident: tuple[TeamResult, ...]
    average: tuple[TeamResult, ...]
    sizes: Sizes | MissingResult

    def by_method(self) -> dict[Method, tuple[TeamResult, ...]]:
        rows = (self.logistic, self.as_published, self.bayesian, self.majority, self.most_confident, self.average)  # fmt: skip
        return _grouped(tuple(row for of_one in rows for row in of_one))

    @property
    def partner(self) -> TeamResult | None:
        """The pair of a human and the most accurate model, or of the two most accurate members where there is no such pair."""
        accuracy = {row.team.label: row.accuracy for row in self.logistic if len(row.team) == 1}
        every = [row for row in self.logistic if len(row.team) == 2]
        pairs = [row for row in every if self.is_of_panel(row.team)] or every
        mixed = [row for row in pairs if row.n_humans and row.n_models]
        return max(
            mixed or pairs,
            key=lambda row: sum(accuracy[name] for name in row.team.names if name in accuracy),
            default=None,
        )

    @property
    def correlated_pair(self) -> TeamResult | None:
        """The one pair whose evidence the chapter speaks of: the partner's Bayesian fit, or else the first pair's."""
        pairs = [row for row in self.bayesian if row.correlation is not None]
        own = [row for row in pairs if self.partner and row.team.label == self.partner.team.label]
        return next(iter([*own, *pairs]), None)

    def is_of_panel(self, team: Team) -> bool:
        """True if all its members are of the panel, any people counting as such."""
        return all(m.is_human or m.name in self.panel for m in team.members)


def _grouped(rows: tuple[TeamResult, ...]) -> dict[Method, tuple[TeamResult, ...]]:
    found: dict[Method, tuple[TeamResult, ...]] = {}
    for row in rows:
        found[row.method] = (*found.get(row.method, ()), row)
    return found
