"""Titles, captions and alternative texts of the figures of teams."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.presentation import FigureText, sentences
from analysis.stats.verdicts import Verdict
from analysis.teams.names import MOST_NAMED, called, equally, method_name, the_member
from analysis.teams.results import Complementarity, Method, Policy, PolicyPoint, Sizes, TeamResult
from analysis.teams.words import row_noun, rows_of
from lib.extremes import highest
from lib.formatting import count, listing, number, percent, verb

MOST_OTHERS = 3  # teams that were tried on another number of trials


@dataclass(frozen=True)
class Shown:
    """The teams of a figure: every one in its table, those in the picture, and which are left out there ("" if none)."""

    every: Sequence[TeamResult]
    shown: Sequence[TeamResult]
    left_out: str
    is_simulated: bool

    @property
    def first(self) -> TeamResult:
        """Trials that all teams were tried on, but for a few that are named."""
        return next((r for r in self.every if r.n_models), self.every[0])

    @property
    def n(self) -> str:
        first = self.first
        cases = count(first.n_items, "test case")
        others = {called(r.team): r.n_trials for r in self.every if r.n_trials != first.n_trials}
        named = [f"{name} on {count(n, 'trial')}" for name, n in list(others.items())[:MOST_OTHERS]]
        besides = f" ({listing(named)})" if named else ""
        if not first.is_judged:
            return f"n = {cases}{besides}."
        by = f" by {self.people(first.n_participants)}" if first.n_participants else ""
        return f"n = {count(first.n_trials, 'trial')}{by} on {cases}{besides}."

    def people(self, n: int) -> str:
        return people(n, is_simulated=self.is_simulated)

    def intervals(self, resampled: TeamResult) -> str:
        if not resampled.n_participants:
            return "Lines are 95% intervals that generalise to other test cases."
        who = "simulated participants" if self.is_simulated else "people"
        return f"Lines are 95% intervals that generalise to other {who} and test cases."

    @property
    def picked(self) -> str:
        if not self.left_out:
            return ""
        return f"This figure shows {len(self.shown)} of {number(len(self.every), 0)}: {self.left_out}; the table contains all."


def people(n: int, *, is_simulated: bool) -> str:
    if is_simulated:
        return count(n, "simulated participant")
    return count(n, "person", "people")


def _equally(teams: Sequence[TeamResult]) -> str:
    return equally([called(row.team) for row in teams])


def accuracy_text(of: Shown, method: Method) -> FigureText:
    several = [r for r in of.every if len(r.team) > 1]
    alone = [r for r in of.every if len(r.team) == 1]
    has_intervals = any(r.accuracy_ci95 for r in of.every)
    combined, best_alone, best_team = "", "", ""
    if alone:
        best = highest(alone, lambda r: r.accuracy)
        best_alone = f"Best member by itself: {_equally(best)}, {percent(best[0].accuracy)} right."
    if several:
        combined = (
            f"Teams are combined by one method ({method_name(method)}) and evaluated on test cases that were not used in the fit. The "
            "vertical tick is the team's most accurate single member."
        )
        best = highest(several, lambda r: r.accuracy)
        low, high = percent(min(r.accuracy for r in several)), percent(best[0].accuracy)
        span = low if low == high else f"{low} to {high}"
        best_team = f"{count(len(several), 'team')}: {span}, most with {_equally(best)}."
    return FigureText(
        "Accuracy of teams",
        sentences(
            of.n,
            "Dots on the left are the team's members.",
            combined,
            of.intervals((several or of.every)[0]) if has_intervals else "",
            of.picked,
        ),
        sentences(best_alone, best_team),
    )


def gain_text(
    of: Shown, by_method: Mapping[Method, Sequence[TeamResult]], alike: str
) -> FigureText:
    """alike: methods that decide alike on pairs; "" where none do."""
    same = (
        f"For pairs, the following methods always make the same decision, that of the more confident member: {alike}."
        if alike
        else ""
    )
    gains = []
    for method, teams in by_method.items():
        known = [r.gain or 0.0 for r in teams]
        n_clear = sum(r.gain_verdict is Verdict.ABOVE for r in teams)
        best = highest(teams, lambda r: r.gain or 0.0)
        gains.append(
            f"{method_name(method)}: {sum(gain > 0 for gain in known)} of {count(len(teams), 'team')} above their best member, "
            f"{n_clear} of them clearly; largest gain {number(100 * max(known), 1)} points ({_equally(best)})"
        )
    return FigureText(
        "Gain of teams over their best member",
        sentences(
            of.n,
            f"{count(len(of.every), 'team')}. Accuracy of the team minus that of its most accurate member on the same trials, in percentage "
            "points; above zero the team is better.",
            of.intervals(of.first),
            "Filled dots: a clear difference (p below .05 after Holm's correction over all comparisons of teams, with enough test cases and "
            "participants); hollow dots: none.",
            same,
            of.picked,
        ),
        f"{'; '.join(gains)}.",
    )


def adding_text(
    n_trials: int,
    differences: Sequence[float],
    verdicts: Sequence[str],
    method: Method,
    *,
    is_simulated: bool,
) -> FigureText:
    """differences, verdicts: of each model."""
    who, others = (
        ("simulated participant", "simulated participants") if is_simulated else ("human", "people")
    )
    models = count(len(differences), "model")
    low, high = (number(100 * end, 1) for end in (min(differences), max(differences)))
    span = f"{low} to {high}" if len(differences) > 1 else low
    above, below = (verdicts.count(side.value) for side in (Verdict.ABOVE, Verdict.BELOW))
    concluded = f"after Holm's correction, accuracy rises for {above} and falls for {below}"
    if all(verdict == Verdict.TOO_FEW.value for verdict in verdicts):
        concluded = "there are too few test cases or participants to say whether it changes"
    return FigureText(
        "Gain from adding one person to a language model",
        f"n = {count(n_trials, 'trial')}, {models}. Vertical ticks: the model alone; dots: with one {who} ({method_name(method)}), on test "
        f"cases that were not used in the fit. Lines are 95% intervals of the difference, for other {others} and test cases.",
        f"A {who} changes the accuracy of {models} by {span} percentage points; {concluded}.",
    )


def complementarity_text(
    of: Shown, method: Method, parts: Sequence[Mapping[Any, Any]], *, are_pairs: bool
) -> FigureText:
    """parts: rows of the last team in the picture, each with the words `trials`, n and n_team_right."""
    what = row_noun(of.every[0])
    teams = count(len(of.every), "pair" if are_pairs else "team")
    grouped = (
        "first and second are as the row names them"
        if are_pairs
        else "counting each member's own choice, not the team's"
    )
    known = [r.complementarity for r in of.every if r.complementarity]
    members_tie = any(c.none_right.n > c.all_wrong.n for c in known)
    has_ties = any(r.n_ties for r in of.every) or members_tie
    # Teams that always follow one member
    led = [(r, r.leader) for r in of.shown if r.leader]
    followed = [
        f"{called(r.team)} always follows {the_member(leader)}, so the other members have no influence."
        for r, leader in led[:MOST_NAMED]
    ]
    n = len(led) - MOST_NAMED
    if n > 0:
        followed.append("One more team does so." if n == 1 else f"{n} more teams do so.")
    last = of.shown[-1]
    said = "; ".join(
        f"{part['trials']} on {rows_of(part['n'], last)}, on {number(part['n_team_right'], 0)} of which the team is right"
        for part in parts
    )
    return FigureText(
        "Correct choices where members disagree",
        sentences(
            of.n,
            f"{teams}. Bars: shares of {what}, grouped by the members who chose the original ({grouped}); the dark part of each colour shows "
            f"where the team ({method_name(method)}) also chose it, and the pale part where it did not. The right side shows how often the "
            "team was right where only some members were. Shares have no interval.",
            "A tie of the team counts half, and a member that ties is not right."
            if has_ties
            else "",
            _contradicted(of, method, "both" if are_pairs else "all"),
            *followed,
            of.picked,
        ),
        f"{called(last.team)}: {said}.",
    )


def _contradicted(of: Shown, method: Method, everybody: str) -> str:
    """Where teams are right although all their members are wrong, and the reverse."""
    known: list[Complementarity] = [r.complementarity for r in of.shown if r.complementarity]
    n_right = sum(c.all_wrong.n_team_right for c in known)
    n_wrong = sum(c.all_right.n - c.all_right.n_team_right - c.all_right.n_team_ties for c in known)
    first = of.every[0]
    cases = [
        *([f"right on {rows_of(n_right, first)} on which {everybody} members were wrong"] if n_right else ()),
        *([f"wrong on {rows_of(n_wrong, first)} on which {everybody} members were right"] if n_wrong else ()),
    ]  # fmt: skip
    if not cases:
        return ""
    why = ": its intercept prefers a side" if method == Method.AS_PUBLISHED else ""
    start = f"Cases in which the team contradicts all its members, summed over {count(len(of.shown), 'team')}: the team is"
    return f"{start} {', and it is '.join(cases)}{why}."


@dataclass(frozen=True)
class Curve:
    """A policy's ends and highest point."""

    policy: Policy
    first: PolicyPoint
    last: PolicyPoint
    best: PolicyPoint


def policy_text(
    n_trials: int,
    n_deciders: int,
    shown: tuple[int, int],
    curves: Sequence[tuple[str, Sequence[Curve]]],
    *,
    has_chosen: bool,
    is_simulated: bool,
) -> FigureText:
    """shown: single models, and teams of models, in the picture; curves: of the first of these, by title."""
    who, others = (
        ("simulated participant", "simulated participants") if is_simulated else ("human", "people")
    )
    models = verb(n_deciders, "model or team of models", "models or teams of models")
    n_single, n_several = shown
    teams = {0: "", 1: " and the largest team of models"}.get(n_several, " and teams of models")
    some = f"This figure shows the {n_single} models that are most accurate on their own{teams}; the table contains all {n_deciders}."
    decides = {Policy.TEAM: "the team decides", Policy.HUMAN: f"the {who}'s choice counts"}
    curve_words = [
        "; ".join(
            f"{decides[c.policy]}: from {percent(c.first.accuracy)} without to {percent(c.last.accuracy)} with all asked, at most "
            f"{percent(c.best.accuracy)}, with {percent(c.best.share_asked, 0)} asked"
            for c in own
        )
        for _title, own in curves
    ]
    return FigureText(
        "Deciding by the model alone or by asking a human",
        sentences(
            f"n = {count(n_trials, 'trial')}, {n_deciders} {models}. A {who} is asked where the model is least certain, one judgment for each "
            "trial; elsewhere the model decides alone. Dashed lines: the same number of trials chosen at random. Bands are 95% intervals "
            f"that generalise to other {others} and test cases.",
            "Diamonds: the threshold was chosen on other test cases, so this accuracy and share are not biased by the choice."
            if has_chosen
            else "",
            some if n_single + n_several < n_deciders else "",
        ),
        sentences(
            *(f"{title}, {said}." for (title, _own), said in zip(curves, curve_words, strict=True))
        ),
    )


def sizes_text(
    sizes: Sizes,
    n_people: int,
    ends: Sequence[tuple[str, Sequence[Mapping[Any, Any]]]],
    bands: str,
    *,
    is_short: bool,
    is_simulated: bool,
) -> FigureText:
    """ends: of each line, the smallest and the largest team; bands: whose there are, "" where there are none."""
    who = "simulated participants" if is_simulated else "people"
    by = f", judged by {people(n_people, is_simulated=is_simulated)} or more" if n_people else ""
    numbers = f"numbers of {who} and models" if n_people else "number of models"

    def end_text(end: Mapping[Any, Any]) -> str:
        if n_people:
            return f"{percent(end['accuracy'])} with {people(end['n_humans'], is_simulated=is_simulated)}"
        return f"{percent(end['accuracy'])} for {count(end['n_models'], 'model')}"

    lines = "; ".join(f"{line}: {', '.join(map(end_text, own))}" for line, own in ends)
    return FigureText(
        "Accuracy by number of people and models",
        sentences(
            f"n = {count(sizes.n_items, 'test case')}, all with equal weight{by}. The average of calibrated probabilities decides. Values are "
            f"means over random choices of the given {numbers}.",
            f"{bands} are 95% intervals that generalise to other test cases." if bands else "",
            "The table has other numbers of models." if is_short else "",
        ),
        f"{lines}.",
    )
