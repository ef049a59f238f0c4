"""What trying teams came to: the team that a page is about, and what is remarkable about it."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.stats import MissingResult
from analysis.teams.names import short, the_member
from analysis.teams.results import (
    AddingHuman,
    BayesianAbout,
    Member,
    MemberResult,
    Method,
    TeamResult,
    TeamsDocument,
    TriedTeams,
)


@dataclass(frozen=True)
class Answer:
    tried: TriedTeams
    is_simulated: bool

    @classmethod
    def of(cls, document: TeamsDocument) -> "Answer":
        return cls(document.tried, document.participants.is_simulated)

    @property
    def members(self) -> list[Member]:
        return [m.member for m in self.tried.members]

    @property
    def n_people(self) -> int:
        return sum(m.is_human for m in self.members)

    @property
    def missing(self) -> list[MemberResult]:
        """Models without a score of some test cases."""
        return [m for m in self.tried.members if m.n_missing]

    @property
    def method(self) -> Method:
        """The way of combining; ALONE where there are no teams."""
        return next((r.method for r in self.tried.teams if r.method != Method.ALONE), Method.ALONE)

    @property
    def result(self) -> TeamResult:
        """The team of all chosen members; where it was not tried, the most accurate one with people."""
        teams = self.tried.teams
        every = [r for r in teams if len(r.team) == len(self.members)]
        several = [r for r in teams if len(r.team) > 1] or teams
        mixed = [r for r in several if r.n_humans and r.n_models]
        people = [r for r in several if r.n_humans]
        return max(every or mixed or people or several, key=lambda r: r.accuracy)

    @property
    def is_whole(self) -> bool:
        return len(self.result.team) >= len(self.members)

    @property
    def is_alone(self) -> bool:
        return len(self.result.team) == 1

    @property
    def adding(self) -> AddingHuman | None:
        """What the last human adds to the team."""
        label = self.result.team.label
        return next((row for row in self.tried.adding_human if row.with_human == label), None)

    @property
    def best_members(self) -> list[str]:
        """The best member first, then those with as many trials right; all people are one here."""
        best = self.result.best
        if best is None:
            return []
        right = {m.name: m.n_correct for m in self.tried.members}
        others = [m for m in self.result.team.members if m != best and right[m.name] == right[best.name]]  # fmt: skip
        people = [m for m in (best, *others) if m.is_human]
        return [the_member(m) for m in (best, *others) if m not in people[1:]]

    @property
    def n_teams(self) -> int:
        return sum(len(r.team) > 1 for r in self.tried.teams)

    @property
    def picked(self) -> TeamResult | None:
        """The most accurate of several teams."""
        teams = [r for r in self.tried.teams if len(r.team) > 1]
        return max(teams, key=lambda r: r.accuracy) if len(teams) > 1 else None

    @property
    def has_two_way(self) -> bool:
        adding = self.adding.gain.two_way_ci95 if self.adding else None
        return bool(self.result.gain_two_way_ci95 or adding)

    @property
    def fit(self) -> BayesianAbout | None:
        about = self.result.about
        return about if isinstance(about, BayesianAbout) else None

    def not_possible(self) -> list[tuple[Sequence[str], MissingResult]]:
        """Which teams could not be fitted, by reason."""
        found: dict[MissingResult, list[str]] = {}
        for row in self.tried.not_possible:
            why = MissingResult(row.reason, row.needed)
            found.setdefault(why, []).append(short(row.team, self.members))
        return [(names, why) for why, names in found.items()]
