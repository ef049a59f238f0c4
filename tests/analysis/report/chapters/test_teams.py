"""The chapter on teams: which teams it is about, what it says of people and models, its tables."""

from dataclasses import replace
from typing import Any

import pytest

from analysis.codec import MissingResult
from analysis.presentation import Table, render_meaning
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.teams.results import Teams
from analysis.report.contents import chapter_named
from analysis.teams.results import MemberKind, MemberResult, Method, TeamingResult
from tests.analysis.teams.made_teams import ADAPTER, teaming, tried

CHAPTER = chapter_named("teams")


def source(found: TeamingResult | MissingResult) -> SourceResults:
    return SourceResults("human", {Teams: Teams(found)})


def page(found: TeamingResult, *, is_simulated: bool = False) -> tuple[Page, str]:
    about = About("study", is_simulated)
    own = CHAPTER.page(source(found), about)
    meaning = render_meaning(CHAPTER.template, {"about": about, **own.context})
    return own, " ".join(meaning.split())


def said(**changes: Any) -> str:
    return page(replace(teaming(), **changes))[1]


def captioned(own: Page, start: str) -> Table:
    return next(t for t in own.tables if t.caption.startswith(start))


def test_it_names_the_panel_the_best_team_and_that_being_picked_flatters_it():
    own, text = page(teaming())
    best = max((r for r in teaming().logistic if len(r.team) > 1), key=lambda r: r.accuracy)
    assert own.context["best"] == best
    assert "all members, the human, Model 0, Model 1 and Model 2: the rule of the panel." in text
    assert "Of 11 teams" in text
    assert "flattered" in text
    assert f"{best.team.display_name} together were right" in text
    assert "no target that a team could reach" in text
    assert "None" not in text


def test_its_partner_is_the_pair_of_a_human_and_the_most_accurate_model():
    own, text = page(teaming())
    models = [m for m in teaming().members if m.kind == MemberKind.MODEL]
    best = max(models, key=lambda m: m.accuracy)
    assert own.context["partner"].team.names == ("human", best.name)
    assert f"Adding one expert to {best.display_name} changes accuracy" in text


def test_simulated_participants_are_called_so():
    _, text = page(teaming(), is_simulated=True)
    assert "Adding one simulated participant to" in text
    assert "the simulated participant deciding then" in text
    assert "expert" not in text


def test_tables_have_all_teams_and_a_model_with_an_adapter_as_one_member():
    own, _ = page(teaming())
    teams = captioned(own, "Members and their teams")
    assert (len(teams.rows), teams.csv) == (15, "teams")
    assert len(captioned(own, "The same teams").rows) == 2 * 11
    assert "team_policies_chosen" in {t.csv for t in own.tables}
    adapter = next(m for m in teaming().members if m.name == ADAPTER)
    names = {row[0] for row in captioned(own, "What one human adds").rows}
    assert adapter.display_name in names
    assert any("published procedure" in method for method in own.methods)


def test_a_single_model_that_beats_all_teams_of_the_panel_is_named():
    def with_rival(accuracy: float) -> str:
        rival = MemberResult("org/x", MemberKind.MODEL, "Rival", "", 80, accuracy, 0)
        left_out = replace(rival, name="org/y", accuracy=None)
        return said(members=(*teaming().members, rival, left_out))

    assert "the best single model of the study, Rival, was right in 99.9%" in with_rival(0.999)
    assert "4 of the study's 5 members" in with_rival(0.999)
    assert "Rival" not in with_rival(0.3)


@pytest.mark.parametrize(
    ("sides", "parts"),
    [
        ("000", ["For none of the 3 models"]),
        ("+-0", ["1 gains accuracy and 1 loses accuracy", "for the other 1 the interval"]),
        ("+++", ["3 gain accuracy by the 95% interval of the change (one by one, without correction)."]),
    ],
)  # fmt: skip
def test_what_a_person_adds_over_models_is_counted_by_sides(sides: str, parts: list[str]) -> None:
    by_side = {"+": (0.01, 0.02), "-": (-0.02, -0.01), "0": (-0.01, 0.01)}
    rows = [row for row in teaming().adding_human if len(row.team) == 1 and not row.team.humans]
    changed = tuple(
        replace(row, gain=replace(row.gain, ci95=by_side[side]))
        for row, side in zip(rows, sides, strict=True)
    )
    text = said(adding_human=changed)
    for part in parts:
        assert part in text


def test_asking_that_does_not_pay_costs_accuracy():
    models = [m for m in teaming().members if m.kind == MemberKind.MODEL]
    accuracy = max(m.accuracy for m in models)
    rows = tuple(
        replace(row, accuracy=accuracy - 0.02, gain_ci95=(-0.05, 0.01))
        for row in teaming().policies_chosen
    )
    text = said(policies_chosen=rows)
    assert "(−2.0 points [−5.0, +1.0]; includes no difference): asking costs accuracy" in text  # noqa: RUF001


def test_a_bayesian_pair_has_its_correlation_and_how_it_was_fitted():
    pair = next(r for r in tried(1, 1, "bayesian").teams if r.method == Method.BAYESIAN)
    own, text = page(replace(teaming(), bayesian=(pair,)))
    assert "a person's and the model's evidence on a test case correlates" in text
    (row,) = captioned(own, "Bayesian fits").rows
    assert row[0] == pair.team.display_name
    assert row[1] == f"{pair.about.pair_correlation.mean:.3f}".replace("0.", ".").replace("-", "−")  # noqa: RUF001
    assert "refitted" in row[-1]


def test_it_stands_without_people():
    found = tried(2, 0)
    alone = tuple(r for r in found.teams if r.method == Method.ALONE)
    models = replace(
        teaming(),
        members=found.members,
        panel=tuple(m.name for m in found.members),
        logistic=found.teams,
        average=(),
        majority=(),
        adding_human=(),
        policies=(),
        policies_chosen=(),
        sizes=MissingResult("No sizes.", "More."),
    )
    assert len(alone) == 2
    assert "human" not in page(models)[1].lower()
