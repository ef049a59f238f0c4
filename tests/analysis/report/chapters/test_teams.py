"""The chapter on teams: which teams it is about, what it says of people and models, its tables."""

from dataclasses import replace

import pytest

from analysis.codec import MissingResult
from analysis.presentation import Table, render_meaning
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.teams.results import Teams
from analysis.report.contents import chapter_named
from analysis.stats.verdicts import Verdict
from analysis.teams.results import Method, TeamingResult
from tests.analysis.teams.made_teams import ADAPTER, teaming, tried

CHAPTER = chapter_named("teams")


def source(found: TeamingResult | MissingResult) -> SourceResults:
    return SourceResults("human", {Teams: Teams(found)})


def page(found: TeamingResult, *, is_simulated: bool = False) -> tuple[Page, str]:
    about = About("study", is_simulated)
    own = CHAPTER.page(source(found), about)
    meaning = render_meaning(CHAPTER.template, {"about": about, **own.context})
    return own, " ".join(meaning.split())


def captioned(own: Page, start: str) -> Table:
    return next(t for t in own.tables if t.caption.startswith(start))


def test_it_names_the_panel_the_best_team_and_that_being_picked_flatters_it():
    own, text = page(teaming())
    best = max((r for r in teaming().logistic if len(r.team) > 1), key=lambda r: r.accuracy)
    assert own.context["best"] == best
    assert "because it was selected as the best" in text
    assert f"{best.team.display_name} together were right" in text
    assert "None" not in text


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


@pytest.mark.parametrize("verdict", Verdict)
def test_asking_lowers_accuracy_only_where_every_corrected_test_says_so(verdict: Verdict) -> None:
    """All three are below the model alone by the estimate."""
    found = teaming()
    rows = tuple(replace(r, accuracy=0.1, gain_verdict=verdict) for r in found.policies_chosen)
    _, text = page(replace(found, policies_chosen=rows))
    assert ("Asking lowers the accuracy here" in text) == (verdict is Verdict.BELOW)
    assert ("this is no clear change" in text) == (verdict is Verdict.UNCLEAR)


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
    said = ("their errors were independent", "right where the other is", "may be independent")
    assert any(one in text for one in said) == (n_people == 1)
