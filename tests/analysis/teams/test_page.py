"""The team page: its team, its best members, the sentences that it has and those that it has not."""

from dataclasses import replace

import pytest
from django.template.loader import render_to_string

from analysis.presentation import Table
from analysis.stats.verdicts import Verdict
from analysis.teams.answer import Answer
from analysis.teams.names import equally
from analysis.teams.page import sections
from analysis.teams.results import (
    FEWEST_ITEMS,
    FewItems,
    NearChance,
    Team,
    TriedTeams,
)
from lib.formatting import NO_BREAK, points
from lib.points import mean_point
from tests.analysis.teams.made_teams import ADAPTER, of_team, tried, without_intervals


def answer(found: TriedTeams, *, is_simulated: bool = False) -> Answer:
    return Answer(found, is_simulated)


def line(name: str, found: TriedTeams) -> str:
    said: str = getattr(answer(found), name)
    return said


def test_the_page_is_about_the_team_of_all_members_and_what_the_last_human_adds():
    own = answer(tried())
    assert own.result.team.names == ("human", "org/model-0", "org/model-1", ADAPTER)
    assert own.is_whole
    assert own.adding.team.names == ("org/model-0", "org/model-1", ADAPTER)
    assert own.adding.larger_team == own.result.team


def test_where_the_whole_was_not_tried_it_is_about_the_most_accurate_team_with_people():
    pairs = tuple(r for r in tried().teams if len(r.team) <= 2)
    own = answer(replace(tried(), teams=pairs))
    mixed = [r for r in pairs if r.n_humans and r.n_models]
    assert own.result == max(mixed, key=lambda r: r.accuracy)
    assert not own.is_whole
    assert own.result.team.display_name in line("not_whole", own.tried)


@pytest.mark.parametrize(
    ("right", "ties", "best"),
    [
        ((8, 9, 5), (0, 0, 0), ["Model 0"]),
        ((9, 9, 9), (0, 0, 0), ["the human", "Model 0", "Model 1"]),
        ((9, 8, 7), (0, 2, 4), ["the human", "Model 0", "Model 1"]),
        ((9, 9, 7), (0, 1, 0), ["Model 0"]),
    ],
)
def test_members_that_are_as_good_as_the_best_are_named(
    right: tuple[int, ...], ties: tuple[int, ...], best: list[str]
) -> None:
    found = tried(up_to=3)
    three = found.members[:3]
    accuracies = [mean_point(n, 12, n_ties) for n, n_ties in zip(right, ties, strict=True)]
    members = tuple(
        replace(m, n_correct=n, n_ties=k, accuracy=a)
        for m, n, k, a in zip(three, right, ties, accuracies, strict=True)
    )
    names = tuple(m.name for m in members)
    team = of_team(found, *names)
    first = names[accuracies.index(max(accuracies))]
    own = answer(replace(found, members=members, teams=(replace(team, best_member=first),)))
    assert own.best_members == best
    assert equally(best) in line("how_accurate", own.tried)


CONCLUSIONS = {
    Verdict.ABOVE: ("the team is more accurate", "accuracy rises"),
    Verdict.BELOW: ("the team is less accurate", "accuracy falls"),
    Verdict.UNCLEAR: ("they do not differ clearly", "this is no clear change"),
    Verdict.TOO_FEW: ("too few test cases or participants", "too few test cases or participants"),
}


@pytest.mark.parametrize("verdict", CONCLUSIONS)
def test_a_gain_is_said_with_its_interval_and_one_conclusion(verdict: Verdict) -> None:
    """Even if the uncorrected interval excludes 0: it stood beside p > .999 as a finding and its opposite."""
    found = tried(1)
    pair, adding = answer(found).result, answer(found).adding
    for gain, ci95 in ((-0.01, (-0.05, 0.03)), (0.02, (0.01, 0.03))):
        known = replace(pair, gain=gain, gain_ci95=ci95, gain_p_holm=0.3, gain_tests=11, gain_verdict=verdict)  # fmt: skip
        change = replace(adding, gain=replace(adding.gain, value=gain, ci95=ci95), p_holm=0.3, n_tests=4, verdict=verdict)  # fmt: skip
        both = replace(found, teams=(known,), adding_human=(change,))
        for name, n, place in (("how_accurate", 11, 0), ("adding_one", 4, 1)):
            said = line(name, both).replace(NO_BREAK, " ")
            assert f"{points(gain)} points [{points(ci95[0])}, {points(ci95[1])}]" in said
            wrong = {words[place] for of, words in CONCLUSIONS.items() if of is not verdict}
            assert CONCLUSIONS[verdict][place] in said
            assert not [words for words in wrong if words in said]
            holm = f"(p = .300 after Holm's correction over {n} comparisons)"
            assert (holm in said) is (verdict is not Verdict.TOO_FEW)


def test_only_a_team_of_members_at_chance_says_so() -> None:
    found = tried(1)
    chance = NearChance(199, 42, 0.4, (0.3, 0.7), (-0.2, 0.1), 0.0, -0.9)
    for near, fact in ((chance, "30.0% to 70.0%"), (NearChance(), "no p"), (None, "")):
        whole = replace(answer(found).result, near_chance=near, gain_ci95=None, accuracy_ci95=None)
        said = line("near_chance", replace(found, teams=(*found.teams[:2], whole)))
        assert fact in said
        assert bool(said) is (near is not None)


@pytest.mark.parametrize("is_near", [True, False])
def test_a_change_beside_a_team_at_chance_says_that_the_fits_differ(*, is_near: bool) -> None:
    found = tried(1)
    change = replace(answer(found).adding, is_near_chance=is_near)
    said = line("adding_one", replace(found, adding_human=(change,)))
    assert ("random halves of the other test cases instead of all" in said) is is_near


@pytest.mark.parametrize(
    ("method", "does"),
    {
        "majority": "A member that ties has no vote.",
        "most-confident": "A member that ties decides nothing.",
        "average": "a tie is a probability of 50%",
        "as-published": "the other members and the intercept decide",
        "logistic": "A tie favours neither side",
        "bayesian": "A tie favours neither side",
    }.items(),
)
def test_ties_of_members_are_counted_and_what_the_team_makes_of_them_is_said(
    method: str, does: str
) -> None:
    found = tried(1, 1, method)
    assert line("ties", found) == ""
    assert "Ties" not in [column.label for column in table_of(found).columns]
    human, model = found.members
    teams = tuple(replace(r, n_ties=4) for r in found.teams)
    tied = replace(found, members=(human, replace(model, n_ties=4)), teams=teams)
    said = line("ties", tied)
    assert f"Model 0 ties on 4 of {found.n_trials} trials." in said
    assert does in said
    assert "Ties" in [column.label for column in table_of(tied).columns]


def table_of(found: TriedTeams) -> Table:
    teams = next(s for s in sections(answer(found), (), str) if s.id == "teams")
    return teams.blocks[0].tables[0]


def test_too_few_test_cases_are_said_before_the_table() -> None:
    for n, is_few in ((FEWEST_ITEMS - 1, True), (FEWEST_ITEMS, False)):
        said = line("few_cases", replace(tried(1), few_items=FewItems.of(n)))
        assert bool(said) is is_few
        assert not said or f"{n} test cases" in said


def test_teams_that_share_the_highest_accuracy_are_all_the_most_accurate() -> None:
    found = tried()
    tied = tuple(replace(row, accuracy=0.8) for row in found.teams)
    n = sum(len(row.team) > 1 for row in tied)
    said = line("most_accurate", replace(found, teams=tied))
    assert f"and {n - 1} others equally, 80.0%; this accuracy" in said


def test_numbers_that_are_not_known_break_no_sentence():
    found = without_intervals(tried())
    for name in ("most_accurate", "adding_one", "how_accurate", "together", "tried_on"):
        said = line(name, found)
        assert "None" not in said
        assert "[" not in said
    for section in sections(answer(found), (), str):
        assert "None" not in str(section.blocks[0].text)


def test_a_bayesian_fit_has_its_quantities():
    own = answer(tried(1, 1, "bayesian"))
    section = next(s for s in sections(own, (), str) if s.id == "posterior")
    (table,) = section.blocks[0].tables
    assert len(table.rows) == len(own.fit.posterior)


def test_names_are_escaped_on_the_page():
    found = tried(1)
    hostile = "<script>alert(1)</script>"
    result = answer(found).result
    members = (result.team.members[0], replace(result.team.members[1], display_name=hostile))
    whole = replace(result, team=Team.of(members))
    own = answer(replace(found, teams=(whole,)))
    section = next(s for s in sections(own, (), str) if s.id == "complementarity")
    meaning = render_to_string("analysis/_text.html", {"text": section.blocks[0].text})
    assert "<script>" not in meaning
    assert "&lt;script&gt;" in meaning
