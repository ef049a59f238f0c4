"""What a team reaches on held-out trials, and what one more person adds."""

from dataclasses import dataclass, field

from analysis.stats.arrays import Interval
from analysis.teams.results.fits import About, BayesianAbout, ImprovedAbout, LogisticAbout, Method
from analysis.teams.results.keys import FLATTENED
from analysis.teams.results.members import Member, Team


@dataclass(frozen=True)
class Tried:
    """A number of trials, and how many of them the team got right."""

    n: int
    n_team_right: int

    @property
    def share_team_right(self) -> float | None:
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

    only_first, only_second: of pairs, trials on which that member alone is right; they add up to some_right.
    """

    all_right: Tried
    some_right: SomeRight
    none_right: Tried
    only_first: OnlyOne | None
    only_second: OnlyOne | None
    patterns: tuple[Pattern, ...]

    def by_right(self, names: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], Tried], ...]:
        """Trials by the names of those who are right; empty where that is not known."""
        if self.only_first and self.only_second:
            only = tuple(((one.member,), one) for one in (self.only_first, self.only_second))
            return ((names, self.all_right), ((), self.none_right), *only)
        known = tuple((p.right, p) for p in self.patterns if p.right is not None)
        return known if len(known) == len(self.patterns) else ()


@dataclass(frozen=True)
class NearChance:
    """Of a team none of whose members can be told from chance: what such members would reach, and the p that holds.

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
        """Whether the published scheme predicts against its own items."""
        return self.left_out_correlation is not None and self.left_out_correlation < 0


def _leads(name: str, kinds: tuple[tuple[tuple[str, ...], Tried], ...]) -> bool:
    return all(t.n_team_right == (t.n if name in right else 0) for right, t in kinds)


@dataclass(frozen=True)
class TeamResult:
    """One team, or one member by itself, on held-out trials.

    n_participants: 0 where rows are items, which n_trials counts then. log_loss_nats: mean of -ln p(original); brier: mean
    of (1 - p(original))^2. Intervals are None where there is one item or one participant. best_member (a name), gain
    (accuracy of the team - that of the best member), complementarity: None for one member. gain_p_holm: over the teams
    that were evaluated together. gain_two_way_*: normal-theory, robust to clusters of people and of items.
    """

    team: Team = field(metadata=FLATTENED)
    method: Method
    n_humans: int
    n_models: int
    n_trials: int
    n_items: int
    n_participants: int
    n_correct: int
    accuracy: float
    accuracy_ci95: Interval | None
    log_loss_nats: float = field(metadata={"json": "log_loss"})
    log_loss_nats_ci95: Interval | None = field(metadata={"json": "log_loss_ci95"})
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
    gain_two_way_se: float | None
    gain_two_way_ci95: Interval | None
    selector_accuracy: float
    selector_accuracy_ci95: Interval | None = field(metadata={"json": "selector_ci95"})
    complementarity: Complementarity | None
    near_chance: NearChance | None
    about: LogisticAbout | ImprovedAbout | BayesianAbout | About

    @property
    def is_judged(self) -> bool:
        """Whether rows are judged trials; else they are test cases."""
        return self.n_participants > 0 or self.n_humans > 0

    @property
    def best(self) -> Member | None:
        return next((m for m in self.team.members if m.name == self.best_member), None)

    @property
    def leader(self) -> Member | None:
        """The member whose choices the team's are on all trials; None where there is none, or it is not known."""
        found = self.complementarity
        kinds = found.by_right(self.team.names) if found else ()
        n = len(self.team)
        if not any(0 < len(right) < n and tried.n for right, tried in kinds):
            return None  # members that always agree
        return next((m for m in self.team.members if _leads(m.name, kinds)), None)


@dataclass(frozen=True)
class Gain:
    """A difference of two accuracies on the same n trials.

    ci95 and p are from resamples, None where nothing can be resampled; two_way_se and two_way_ci95 are normal-theory and
    None where they are not defined.
    """

    value: float
    ci95: Interval | None
    p: float | None
    n: int
    two_way_se: float | None
    two_way_ci95: Interval | None


@dataclass(frozen=True)
class AddingHuman:
    """What the person `added` to `team` changes: accuracy of the larger team less that of this one.

    with_human: the larger team's label. p_holm: over the comparisons of a method.
    """

    team: Team = field(metadata=FLATTENED)
    with_human: str
    added: Member
    method: Method
    gain: Gain = field(metadata=FLATTENED)
    p_holm: float | None

    @property
    def larger_team(self) -> Team:
        return Team.of((*self.team.humans, self.added, *self.team.models))


@dataclass(frozen=True)
class NotPossible:
    """A team that could not be fitted, and what would be needed."""

    team: Team = field(metadata=FLATTENED)
    method: Method
    reason: str
    needed: str
