"""The chapter on teams: which teams it is about, what it says of people and models, its tables."""

from dataclasses import replace

import pytest

from analysis.codec import MissingResult
from analysis.presentation import Table
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.teams.results import Teams
from analysis.report.contents import chapter_named
from analysis.stats.verdicts import Verdict
from analysis.teams.results import About as TeamAbout
from analysis.teams.results import (
    BayesianAbout,
    MemberKind,
    Method,
    NearChance,
    Policy,
    Quantity,
    SizeCell,
    Sizes,
    TeamingResult,
    TeamResult,
)
from tests.analysis.teams.made_teams import ADAPTER, teaming, tried

CHAPTER = chapter_named("teams")
HUMAN, MODEL = MemberKind.HUMAN, MemberKind.MODEL


def source(found: TeamingResult | MissingResult) -> SourceResults:
    return SourceResults("human", {Teams: Teams(found)})


def page(found: TeamingResult, *, is_simulated: bool = False) -> tuple[Page, str]:
    own = CHAPTER.page(source(found), About("study", is_simulated))
    return own, " ".join(paragraph.text for paragraph in own.text)


def captioned(own: Page, start: str) -> Table:
    return next(t for t in own.tables if t.caption.startswith(start))


def test_it_names_the_panel_the_best_team_and_that_being_picked_flatters_it():
    own, text = page(teaming())
    best = max((r for r in teaming().logistic if len(r.team) > 1), key=lambda r: r.accuracy)
    assert "because it was selected as the best" in text
    assert f"{best.team.display_name} together were right" in text
    assert "None" not in text
    assert own.finding.startswith(own.text[0].text)
    assert own.finding.endswith("because it was selected as the best.")


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1, "this one has the highest"),
        (3, "this one, {} and {} have the highest"),
        (5, "this one and 4 others have the highest"),
    ],
)
def test_all_teams_that_share_the_highest_accuracy_are_named(n: int, expected: str):
    rows = teaming().logistic
    best = [r for r in rows if len(r.team) > 1][:n]
    tied = tuple(replace(r, accuracy=0.9 if r in best else 0.6) for r in rows)
    own, _ = page(replace(teaming(), logistic=tied))
    names = (r.team.display_name for r in best[1:3])
    assert expected.format(*names) in own.finding


def test_tables_have_all_teams_and_a_model_with_an_adapter_as_one_member():
    own, _ = page(teaming())
    teams = captioned(own, "Members and their teams")
    assert (len(teams.rows), teams.csv) == (15, "teams")
    assert len(captioned(own, "The same teams").rows) == 2 * 11
    assert "team_policies_chosen" in {t.csv for t in own.tables}
    adapter = next(m for m in teaming().members if m.name == ADAPTER)
    names = {row[0] for row in captioned(own, "Gain from one human").rows}
    assert adapter.display_name in names
    assert any("without intercept" in method for method in own.methods)


# A loss by deferral is never concluded
@pytest.mark.parametrize("verdict", [v for v in Verdict if v is not Verdict.BELOW])
def test_each_policy_changes_accuracy_as_its_corrected_test_says(verdict: Verdict) -> None:
    """One of two policies of a model has this verdict, the other none."""
    found = teaming()
    rows = tuple(
        replace(r, gain_verdict=verdict if r.policy is Policy.HUMAN else None)
        for r in found.policies_chosen
    )
    said = {
        Verdict.ABOVE: "asking raises the accuracy",
        Verdict.UNCLEAR: "this is no clear change",
        Verdict.TOO_FEW: "to say whether it changes",
    }
    _, text = page(replace(found, policies_chosen=rows, adding_human=()))
    assert [words for words in said.values() if words in text] == [said[verdict]]


def test_how_many_models_a_human_helps_goes_by_the_corrected_tests() -> None:
    found = teaming()
    models = [row for row in found.adding_human if len(row.team) == 1 and not row.team.humans]
    for verdict, words in (
        (Verdict.ABOVE, "gain accuracy"),
        (Verdict.BELOW, "lose accuracy"),
        (Verdict.UNCLEAR, "makes no clear change"),
        (Verdict.TOO_FEW, "whether it changes"),
    ):
        rows = tuple(replace(r, verdict=verdict, n_tests=7, p_holm=0.5) for r in found.adding_human)
        _, text = page(replace(found, adding_human=rows))
        assert words in text
        counted = "over 7 comparisons" in text and f"{len(models)} models" in text
        assert counted is (verdict is not Verdict.TOO_FEW)


@pytest.mark.parametrize("n_people", [1, 2])
def test_a_correlation_that_cannot_be_negative_proves_no_shared_errors(n_people: int) -> None:
    fits = tried(1, 2, Method.BAYESIAN).teams
    own = tuple(r for r in fits if len(r.team) == 2 and r.n_humans == n_people)
    _, text = page(replace(teaming(), bayesian=own))
    assert "evidence on a test case correlates" in text
    assert ("above 0 whatever the data" in text) == (n_people == 2)
    assert ("0 where their errors are independent" in text) == (n_people == 1)


def test_members_of_all_are_told_from_those_of_a_panel_and_from_those_that_judged_too_little() -> (
    None
):
    found = teaming()
    model = next(m for m in found.members if m.kind == MemberKind.MODEL)
    absent = replace(model, name="absent", display_name="Absent", accuracy=None)
    _, text = page(found)
    assert "The teams here are those of all members, the human, " in text
    assert "are in no team" not in text
    _, text = page(replace(found, members=(*found.members, absent)))
    assert "The teams here are those of 4 of the study's 5 members, the human, " in text
    assert "and are in no team: Absent." in text
    _, text = page(replace(found, panel=()))
    assert "The teams here are" not in text


@pytest.mark.parametrize(
    ("n_better", "words"),
    [
        (1, "This is a higher observed accuracy than that of any of these teams"),
        (2, "It and one other model had a higher observed accuracy"),
        (3, "It and 2 other models had a higher observed accuracy"),
    ],
)
def test_single_models_that_are_better_than_every_team_are_counted(
    n_better: int, words: str
) -> None:
    found = teaming()
    models = [m.name for m in found.members if m.kind == MemberKind.MODEL][:n_better]
    members = tuple(
        replace(m, n_correct=found.n_trials, accuracy=1.5) if m.name in models else m
        for m in found.members
    )
    _, text = page(replace(found, members=members))
    assert words in text
    assert "was right in 150.0%" in text


def test_gains_and_losses_of_single_models_stand_in_one_sentence() -> None:
    found = teaming()
    singles = [row for row in found.adding_human if len(row.team) == 1 and not row.team.humans]
    of = dict(zip((row.team.label for row in singles), (Verdict.ABOVE, Verdict.BELOW, Verdict.UNCLEAR), strict=False))  # fmt: skip
    rows = tuple(
        replace(r, verdict=of.get(r.team.label, Verdict.ABOVE), n_tests=7)
        for r in found.adding_human
    )
    _, text = page(replace(found, adding_human=rows), is_simulated=True)
    assert (
        "When one simulated participant is added to each of 3 models, 1 gains accuracy and 1 loses accuracy, after Holm's correction over "
        "7 comparisons; for the other one, there is no clear change."
    ) in text


def test_the_person_asked_where_the_model_is_not_confident_is_named() -> None:
    for is_simulated, person in ((False, "human"), (True, "simulated participant")):
        _, text = page(teaming(), is_simulated=is_simulated)
        assert f"and a {person} is asked elsewhere" in text
        assert f"If the {person} then decides, the accuracy is" in text
        assert "If the team then decides, the accuracy is" in text


@pytest.mark.parametrize(
    ("kinds", "is_simulated", "words"),
    [
        ((MODEL, MODEL), False, "the two models' evidence"),
        ((HUMAN, HUMAN), False, "two people's evidence"),
        ((HUMAN, HUMAN), True, "two simulated participants' evidence"),
        ((HUMAN, MODEL), False, "a person's and the model's evidence"),
        ((HUMAN, MODEL), True, "a simulated participant's and the model's evidence"),
    ],
)
def test_correlated_evidence_names_whose_it_is(
    kinds: tuple[MemberKind, MemberKind], *, is_simulated: bool, words: str
) -> None:
    _, text = page(
        replace(teaming(), bayesian=(fitted((0.2, 0.6), kinds),)), is_simulated=is_simulated
    )
    assert words in text


def fitted(interval: tuple[float, float], kinds: tuple[MemberKind, MemberKind]) -> TeamResult:
    """A pair whose evidence has a correlation of this interval."""
    pair = next(r for r in tried(1, 2, Method.BAYESIAN).teams if len(r.team) == 2 and r.n_models)
    about = pair.about
    assert isinstance(about, BayesianAbout)
    posterior = {
        name: replace(one, ci95=interval, member_kinds=kinds)
        if one.quantity == Quantity.CORRELATION
        else one
        for name, one in about.posterior.items()
    }
    return replace(pair, about=replace(about, posterior=posterior))


def test_accuracy_by_size_lists_teams_from_the_smallest_to_the_largest() -> None:
    cells = [
        SizeCell(people, models, share, 12, 0, None)
        for people, models, share in ((1, 0, 0.6), (2, 0, 0.65), (0, 1, 0.7), (2, 1, 0.8))
    ]
    sizes = Sizes(12, 2, 1, tuple(cells), "")
    _, text = page(replace(teaming(), sizes=sizes))
    assert (
        "Expected accuracy by size on 12 test cases: 60.0% for 1 person, 65.0% for 2 people, 70.0% for 1 model and 80.0% for 2 people "
        "with 1 model."
    ) in text
    _, text = page(replace(teaming(), sizes=replace(sizes, cells=tuple(cells[:1]))))
    assert "Expected accuracy by size" not in text


def test_teams_near_chance_and_the_others_each_have_their_rule_among_the_methods() -> None:
    found = teaming()
    alone = [row for row in found.logistic if len(row.team) == 1]
    pairs = [row for row in found.logistic if len(row.team) == 2]
    near = replace(pairs[0], near_chance=NearChance(), about=TeamAbout("By random halves."))
    usual = replace(pairs[1], near_chance=None, about=TeamAbout("By all other test cases."))
    own, _text = page(replace(found, logistic=(*alone, usual, near)))
    assert {"By random halves.", "By all other test cases."} <= set(own.methods)
