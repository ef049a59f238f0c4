"""Figures of teams: they show what they are given, with long names, many members and few."""

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from analysis.charts import save, style
from analysis.charts.figure import Figure
from analysis.charts.rows import short
from analysis.stats import NotEnough
from analysis.stats.verdicts import Verdict
from analysis.teams.figures import FIGURES, draw_teams
from analysis.teams.figures.accuracy import (  # fmt: skip
    BOTH,
    LONGEST,
    MACHINES,
    MOST,
    PEOPLE,
    kind_of,
    left_out,
    shown_teams,
)
from analysis.teams.figures.adding import sizes as draw_sizes
from analysis.teams.results import OnlyOne, SomeRight, TeamResult, TeamResults, Tried
from lib.formatting import percent
from tests.analysis.teams.made_teams import (
    LONG,
    SIMULATED,
    document,
    of_team,
    teaming,
    tried,
    without_intervals,
)


def draw(name: str, results: TeamResults, *, is_simulated: bool = False) -> Figure:
    return FIGURES[name](results, is_simulated)


def svg(figure: Figure) -> str:
    return save.svg(save.specification(figure))


def size(picture: str) -> list[float]:
    """Width and height in px."""
    return [float(x) for x in ElementTree.fromstring(picture).get("viewBox").split()[2:]]


def written(figure: Figure) -> set[str]:
    return set(ElementTree.fromstring(svg(figure)).itertext())


def of_size(results: TeamResults, n: int) -> tuple[TeamResult, ...]:
    return tuple(r for r in results.teams if len(r.team) == n)


def test_the_teams_figure_draws_each_team_with_its_accuracy_and_best_member():
    found = tried()
    figure = draw("teams", found)
    rows = figure.table.set_index("team")
    for result in found.teams:
        assert rows.loc[result.team.label, "accuracy"] == result.accuracy
        ends = rows.loc[result.team.label, ["ci_low", "ci_high"]]
        # A team of members near chance has none
        assert ends.dropna().tolist() == list(result.accuracy_ci95 or ())
    assert len(rows) == 15
    shown = written(figure)
    assert {PEOPLE, MACHINES, BOTH, "Human", "Model 0"} <= shown
    assert {percent(r.accuracy) for r in found.teams} <= shown


def test_gains_stand_in_a_panel_per_method_and_are_filled_only_where_they_are_sure():
    figure = draw("teams_gain", teaming())
    assert len(figure.table) == 3 * 11
    found = tried()

    def of(verdict: Verdict) -> int:
        teams = tuple(replace(r, gain_p_holm=0.01, gain_verdict=verdict) for r in found.teams)
        return svg(draw("teams_gain", replace(found, teams=teams))).count('fill="white"')

    assert of(Verdict.TOO_FEW) == of(Verdict.UNCLEAR) == of(Verdict.BELOW) + 11


def test_the_parts_of_a_complementarity_bar_add_up_to_all_trials():
    found = tried()
    table = draw("teams_complementarity", found).table
    assert (table.groupby("team")["n"].sum() == found.n_trials).all()
    assert (table["start"] <= table["until"]).all()
    assert (table["until"] <= table["end"] + 1e-12).all()
    right = {r.team.label: r.n_correct for r in found.teams}
    sums = table.groupby("team")["n_team_right"].sum()
    assert {label: right[label] for label in sums.index} == sums.to_dict()


def test_a_team_contradicts_members_that_are_wrong_and_none_that_ties():
    found = tried(2)
    pair = next(r for r in found.teams if len(r.team) == 2)
    none, wrong = Tried(5, 5, 0), Tried(2, 1, 0)
    one = replace(
        pair, complementarity=replace(pair.complementarity, none_right=none, all_wrong=wrong)
    )
    caption = draw("teams_complementarity", replace(found, teams=(one,))).caption
    assert "right on 1 trial on which both members were wrong" in caption
    assert "a member that ties is not right" in caption


@pytest.mark.parametrize("name", FIGURES)
def test_many_teams_with_long_names_stay_within_the_page_and_say_what_they_leave_out(name):
    found = tried(7, 2, "majority", up_to=3, is_long=True)
    if name == "teams_policy":
        models = {p.team.label for p in found.policies[:90]}
        found = replace(found, policies=tuple(p for p in found.policies if p.team.label in models))
    figure = draw(name, found)
    picture = svg(figure)
    width, height = size(picture)
    assert width <= style.FULL
    assert height <= 1400
    assert min(int(px) for px in re.findall(r'font-size="(\d+)px"', picture)) >= 10
    if name in ("teams", "teams_gain"):
        assert re.search(r"This figure shows \d+ of \d+: .*the most accurate", figure.caption)
    if name == "teams":
        assert short(LONG.format(6, 6), LONGEST) in written(figure)


def test_too_many_teams_are_cut_to_members_the_whole_and_the_best_of_each_kind():
    found = tried(7, 2, "majority")
    every = found.teams
    shown = shown_teams(every)
    assert len(shown) == MOST
    assert sum(len(r.team) == 1 for r in shown) == 8
    names = {r.team.names for r in shown}
    members = tuple(m.name for m in found.members)
    assert {members, tuple(n for n in members if n != "human-2")} <= names
    rest = [r for r in shown if 1 < len(r.team) < 8]
    counts = {kind: sum(kind_of(r) == kind for r in rest) for kind in (BOTH, MACHINES, PEOPLE)}
    assert counts[PEOPLE] == 1  # two people form one team
    assert abs(counts[BOTH] - counts[MACHINES]) <= 1
    for kind in counts:
        lowest = min(r.accuracy for r in rest if kind_of(r) == kind)
        others = [r.accuracy for r in every if kind_of(r) == kind and r not in shown]
        assert lowest >= max(others, default=0)
    assert f"of models ({counts[MACHINES]})" in left_out(shown, every)
    assert left_out(every, every) == ""


def test_a_team_that_goes_against_its_members_is_named_and_so_is_one_that_follows_one():
    pair = of_team(tried(), "human", "org/model-0")
    all_of = replace(
        pair.complementarity,
        all_right=Tried(100, 100, 0),
        none_right=Tried(9, 0, 0),
        some_right=SomeRight(70, 40, 0, 0, 0),
        only_first=OnlyOne(30, 0, 0, "human"),
        only_second=OnlyOne(40, 40, 0, "org/model-0"),
        leader="org/model-0",
    )
    against = replace(all_of, leader=None, none_right=Tried(9, 2, 0), all_wrong=Tried(9, 2, 0))
    for own, leader, said in (
        (all_of, "org/model-0", "always follows Model 0"),
        (against, None, "right on 2 trials on which both members were wrong"),
    ):
        led = replace(pair, complementarity=own)
        assert (led.leader.name if led.leader else None) == leader
        found = replace(tried(), teams=(led,))
        assert said in draw("teams_complementarity", found).caption


def test_a_trial_of_chosen_teams_has_all_figures_and_calls_simulated_participants_so():
    figures = list(draw_teams(document(tried(1), SIMULATED)))
    assert [figure.name for figure in figures] == list(FIGURES)
    sizes = draw_sizes(teaming().sizes, True)
    for figure in (*figures, sizes):
        drawn = json.dumps(save.specification(figure, check=False)).replace("people alone", "")
        shown = f"{figure.caption} {figure.alt} {drawn}"
        assert not re.search(r"people (and test|or more)|(a|one) human\b|the human's|\bpersons?\b", shown)  # fmt: skip
        assert "simulated participant" in shown.lower()


def test_members_by_themselves_have_the_figures_that_they_support():
    alone = replace(tried(), teams=of_size(tried(), 1))
    assert [f.name for f in draw_teams(document(alone))] == ["teams", "teams_policy"]
    with pytest.raises(NotEnough, match="Choose at least two members"):
        draw("teams_gain", alone)


def test_numbers_that_are_not_known_break_no_figure():
    for figure in draw_teams(document(without_intervals(tried(1)))):
        assert save.specification(figure, check=False)
        assert not re.search(r"\bnan\b|None|–", figure.caption + figure.alt)  # noqa: RUF001
