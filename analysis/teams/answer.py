"""Outcome of trying a team: the team that a page is about, and what is remarkable about it, in sentences and numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.data.filters import ASKED
from analysis.presentation import KeyNumber, Paragraph, paragraphs, sentences
from analysis.stats import MissingResult
from analysis.teams import words
from analysis.teams.names import equally, short, the_member
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
from lib import formatting as f
from lib.extremes import highest


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
    def twice(self) -> list[tuple[str, str]]:
        """Names of models that are members both scored and asked."""
        shown = {m.name: m.display_name for m in self.members}
        return [(shown[name], shown[f"{name}{ASKED}"]) for name in self.tried.taken_twice]

    @property
    def tied(self) -> list[MemberResult]:
        """Members that did not decide on every trial."""
        return [m for m in self.tried.members if m.n_ties]

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
        """Gain of the team from its last human."""
        label = self.result.team.label
        return next((row for row in self.tried.adding_human if row.with_human == label), None)

    @property
    def best_members(self) -> list[str]:
        """The best member first, then those with as many trials right; all people are one here."""
        best = self.result.best
        if best is None:
            return []
        right = {m.name: m.accuracy for m in self.tried.members}
        others = [m for m in self.result.team.members if m != best and right[m.name] == right[best.name]]  # fmt: skip
        people = [m for m in (best, *others) if m.is_human]
        return [the_member(m) for m in (best, *others) if m not in people[1:]]

    @property
    def n_teams(self) -> int:
        return sum(len(r.team) > 1 for r in self.tried.teams)

    @property
    def picked(self) -> list[TeamResult]:
        """The most accurate of several teams."""
        teams = [r for r in self.tried.teams if len(r.team) > 1]
        return highest(teams, lambda r: r.accuracy) if len(teams) > 1 else []

    @property
    def fit(self) -> BayesianAbout | None:
        about = self.result.about
        return about if isinstance(about, BayesianAbout) else None

    @property
    def sentence(self) -> str:
        """The first sentence: the gain from the last human, else the team's accuracy."""
        return self.adding_one or self.how_accurate

    @property
    def cautions(self) -> list[Paragraph]:
        """Cautions for readers of the numbers."""
        strong = [
            Paragraph(text, is_strong=True)
            for text in (self.few_cases, self.one_model_twice)
            if text
        ]
        how_accurate = self.how_accurate if self.adding else ""
        return [*paragraphs(how_accurate, self.ties), *strong, *paragraphs(self.not_whole)]

    @property
    def numbers(self) -> list[KeyNumber]:
        """Numbers of the team; where it has several members, beside the best of them, and beside what they could reach."""
        result = self.result
        of = f"of {words.row_noun(result)}"
        right = _with_ci(of, f.share_interval(result.accuracy_ci95))
        first = KeyNumber("Right" if self.is_alone else "Team", f.percent(result.accuracy), right)
        if result.gain is None:
            return [first]
        best = f"{of}; {equally(self.best_members)}"
        gain = _with_ci("points", f.points_interval(result.gain_ci95))
        reach = f"{of}: at least one member is right, and a tie counts half"
        return [
            first,
            KeyNumber("Best member", f.percent(result.best_member_accuracy), best),
            KeyNumber("Gain", f.points(result.gain), gain),
            KeyNumber("At most", f.percent(result.selector_accuracy), reach),
        ]

    @property
    def remarks(self) -> list[Paragraph]:
        return paragraphs(self.near_chance, self.alone)

    @property
    def few_cases(self) -> str:
        return words.few_cases(self.tried.few_items)

    @property
    def how_accurate(self) -> str:
        return words.how_accurate(self.result, equally(self.best_members))

    @property
    def adding_one(self) -> str:
        return words.adding_one(self.adding, is_simulated=self.is_simulated) if self.adding else ""

    @property
    def ties(self) -> str:
        return words.ties(self.tied, self.tried.n_trials, self.method, self.result)

    @property
    def near_chance(self) -> str:
        return words.near_chance(self.result)

    @property
    def alone(self) -> str:
        return words.NO_TEAM if self.is_alone else ""

    @property
    def together(self) -> str:
        return words.together(self.result, "the team")

    @property
    def one_model_twice(self) -> str:
        return " ".join(
            f"{scored} and {asked} are one language model, which is a member twice: scored and asked."
            for scored, asked in self.twice
        )

    @property
    def not_whole(self) -> str:
        if self.is_whole:
            return ""
        people = " with people" if self.result.n_humans else ""
        team = short(self.result.team, self.members)
        return (
            f"The team of all {len(self.members)} members was not evaluated. These results are for the most accurate of the evaluated "
            f"teams{people}, {team}; its accuracy is biased upwards by this selection."
        )

    @property
    def most_accurate(self) -> str:
        if not self.picked:
            return ""
        best = self.picked[0]
        right = f.percent(best.accuracy)
        if len(self.picked) == 1:
            interval = f.with_interval(right, f.share_interval(best.accuracy_ci95))
            of_members = f"{f.points(best.gain)} points compared with its best member"
            right = f"{interval} of {words.row_noun(best)}, {of_members}"
        teams = equally([short(row.team, self.members) for row in self.picked])
        return f"Most accurate of {f.count(self.n_teams, 'team')}: {teams}, {right}; this accuracy is biased upwards by the selection."

    @property
    def tried_on(self) -> str:
        tried = self.tried
        by = f" by {f.count(tried.n_participants, 'participant')}" if tried.n_participants else ""
        trials, cases = f.count(tried.n_trials, "trial"), f.count(tried.n_items, "test case")
        why, left_out = [], ""
        if self.n_people > 1:
            why.append(f"fewer than {self.n_people} participants judged their test case")
        if self.missing:
            named = (f"{m.display_name} {f.number(m.n_missing, 0)}" for m in self.missing)
            why.append(f"test cases without a score, by model: {', '.join(named)}")
        if n := tried.n_left_out:
            reason = "; ".join(why) or "not every member judged their test case"
            left_out = f"{n} {f.verb(n, 'trial was', 'trials were')} excluded: {reason}."
        return sentences(f"{trials} of {cases}{by}.", left_out, tried.shortened)

    def not_possible(self) -> list[tuple[Sequence[str], MissingResult]]:
        """Teams that could not be fitted, by reason."""
        found: dict[MissingResult, list[str]] = {}
        for row in self.tried.not_possible:
            why = MissingResult(row.reason, row.needed)
            found.setdefault(why, []).append(short(row.team, self.members))
        return [(names, why) for why, names in found.items()]


def _with_ci(of: str, shown: str) -> str:
    return of if shown == f.DASH else f"{of}; 95% CI {shown}"
