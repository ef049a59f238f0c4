"""A comparison of teams has one corrected p and one verdict, whichever tables it stands in."""

from dataclasses import replace

import pytest

from analysis.stats.families import together
from analysis.stats.verdicts import Verdict
from analysis.teams.domain.evaluation import evaluate
from analysis.teams.domain.families import OTHERS, TEAMS, Concluded, concluded
from analysis.teams.domain.folds import Draws
from analysis.teams.results import (
    FEWEST_ITEMS,
    AddingHuman,
    ChosenPolicy,
    Gain,
    Member,
    MemberKind,
    Method,
    Policy,
    Team,
    TeamResult,
)
from tests.analysis.teams.domain.test_evaluation import SMALL, held_of

HUMAN = Member("human", MemberKind.HUMAN, "Human")
SIZES = (200, 100)
ROW = evaluate(SMALL, held_of(SMALL), Method.LOGISTIC, Draws.of(SMALL, resamples=10))


def model(name: str) -> Member:
    return Member(name, MemberKind.MODEL, name)


def gain(
    p: float | None, *models: str, best: str, method: Method = Method.LOGISTIC, n: int = SIZES[0]
) -> TeamResult:
    """Gain of a human and models over a member."""
    team = Team.of((HUMAN, *map(model, models)))
    about = {"team": team, "method": method, "best_member": best, "n_items": n}
    return replace(ROW, **about, n_participants=SIZES[1], gain=0.04, gain_p=p)


def adding(p: float | None, *models: str, method: Method = Method.LOGISTIC) -> AddingHuman:
    team = Team.of(tuple(map(model, models)))
    change = Gain(0.04, None, p, 100, None)
    return AddingHuman(team, "+".join(("human", *models)), HUMAN, method, change, *SIZES)


def deferral(p: float, change: float = 0.04) -> ChosenPolicy:
    numbers = (0.7, 0.5, 50, 100, 60, 0, 0.6, 0.5, "", None)
    return ChosenPolicy(Team.of((model("a"),)), Policy.HUMAN, *numbers, change, None, p)


def together_of(*found: object) -> Concluded:
    """Teams with the model “other” are another question; of those with “compared”, nothing is concluded."""
    kinds = (TeamResult, AddingHuman, ChosenPolicy)
    parts = [[one for one in found if isinstance(one, kind)] for kind in kinds]

    def question(team: Team) -> str | None:
        if "compared" in team.names:
            return None
        return OTHERS if "other" in team.names else TEAMS

    return concluded(*parts, main=Method.LOGISTIC, question=question, sizes=SIZES)


def test_the_same_comparison_counts_once_and_has_one_p() -> None:
    found = together_of(gain(0.01, "a", best="a"), gain(0.3, "a", "b", best="a"), adding(0.01, "a"))
    assert [row.gain_p_holm for row in found.rows] == [0.02, 0.3]
    (one,) = found.adding
    assert (one.p_holm, one.n_tests, one.verdict) == (0.02, 2, Verdict.ABOVE)
    assert (found.rows[0].gain_tests, found.rows[0].gain_verdict) == (2, Verdict.ABOVE)
    # Where the best member is the human, adding one is another comparison
    apart = together_of(gain(0.01, "a", best="human"), adding(0.04, "a"))
    assert (apart.rows[0].gain_p_holm, apart.adding[0].p_holm) == (0.02, 0.04)
    # Near chance, the gain alone has a p
    near = together_of(gain(0.2, "a", best="a"), adding(None, "a"))
    assert near.adding[0].p_holm == near.rows[0].gain_p_holm == 0.2


def test_questions_have_equal_shares_and_other_methods_are_one_of_them() -> None:
    found = together_of(
        gain(0.01, "a", best="a"),
        gain(0.2, "b", best="b"),
        gain(0.04, "other", best="human"),
        gain(0.002, "a", best="a", method=Method.AS_PUBLISHED),
        gain(0.5, "other", best="human", method=Method.AVERAGE),
        deferral(0.03),
    )
    questions = {
        "teams": [0.01, 0.2],
        "others": [0.04],
        "methods": [0.002, 0.5],
        "deferral": [0.03],
    }
    expected = together(questions)
    assert [row.gain_p_holm for row in found.rows] == pytest.approx(
        [*expected["teams"], *expected["others"], *expected["methods"]]
    )
    assert [one.gain_p_holm for one in found.chosen] == pytest.approx(expected["deferral"])
    assert {row.gain_tests for row in found.rows} == {6}


def test_a_family_is_no_smaller_for_comparisons_without_a_p_or_a_loss_by_deferral() -> None:
    found = together_of(
        gain(0.02, "a", best="a"),
        gain(None, "b", best="b"),
        deferral(0.001, change=-0.04),
    )
    assert [(row.gain_p_holm, row.gain_tests) for row in found.rows] == [(0.08, 3), (None, None)]
    assert [(one.gain_p_holm, one.gain_verdict) for one in found.chosen] == [(1, Verdict.UNCLEAR)]


def test_teams_to_compare_with_and_few_test_cases_conclude_nothing() -> None:
    found = together_of(
        gain(0.04, "a", best="a"),
        gain(0.001, "compared", best="compared"),
        adding(0.01, "compared"),
    )
    assert (found.rows[0].gain_p_holm, found.rows[0].gain_verdict) == (0.04, Verdict.ABOVE)
    assert (found.rows[1].gain_p_holm, found.rows[1].gain_verdict) == (None, None)
    assert (found.adding[0].p_holm, found.adding[0].verdict) == (None, None)
    few = together_of(gain(0.001, "a", best="a", n=FEWEST_ITEMS - 1))
    assert few.rows[0].gain_verdict is Verdict.TOO_FEW


def test_a_loss_against_the_best_of_several_members_counts_the_choice_and_a_gain_does_not():
    found = gain(0.02, "a", best="a")
    for change, factor in ((0.04, 1), (-0.04, len(found.team))):
        (row,) = together_of(replace(found, gain=change, near_chance=None)).rows
        assert row.gain_p_holm == pytest.approx(0.02 * factor)
