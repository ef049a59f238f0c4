"""A model scored with an adapter is named `base + adapter`: one member, whatever its name holds."""

import json
from typing import Any

import pytest
from django.core.management import call_command

from analysis.codec import from_json, to_json
from analysis.data.filters import ReportOptions
from analysis.data.read import read
from analysis.report.chapters.teams.results import Teams, build_teams
from analysis.teams.results import TeamsDocument
from benchmarks.analysis.crowd import make_crowd
from experiment.models import Study
from scoring.models import LanguageModel

pytestmark = pytest.mark.django_db
ADAPTER, OTHER = "org/base + org/adapter", "simulated/model-01"


@pytest.fixture
def study() -> Study:
    """180 trials of 20 people on 20 items, and two models, one of them with an adapter."""
    crowd = make_crowd(180, 20, 2)
    LanguageModel.objects.filter(name="simulated/model-00").update(name=ADAPTER)
    return crowd


@pytest.mark.parametrize("method", ["logistic", "improved", "bayesian"])
def test_the_command_takes_it_as_one_member(study: Study, method: str, capsys: Any) -> None:
    capsys.readouterr()
    members = ("--members", "human", ADAPTER, OTHER)
    few = ("--resamples", "100", "--method", method)
    call_command("team", study.slug, *members, "--all-subsets", *few, "--json")
    values = json.loads(capsys.readouterr().out)
    found = from_json(TeamsDocument, values)
    assert to_json(found) == values
    by_names = {row.team.names: row for row in found.tried.teams}
    pair = by_names["human", ADAPTER]
    assert (len(pair.team), pair.n_humans, pair.n_models) == (2, 1, 1)
    assert [m.name for m in pair.team.models] == [ADAPTER]
    assert by_names["human", ADAPTER, OTHER].n_models == 2
    adding = {row.team.names: row for row in found.tried.adding_human}
    assert adding[ADAPTER,].larger_team == pair.team
    deciders = {row.team.names for row in found.tried.policies_chosen}
    assert deciders == {(ADAPTER,), (OTHER,), (ADAPTER, OTHER)}


def test_the_report_takes_it_as_one_member(study: Study) -> None:
    data = read(study, ReportOptions(resamples=100))["human"]
    results = build_teams(data).results
    assert from_json(Teams, to_json(results)) == results
    found = results.teaming
    rows = [row for of_one in found.by_method().values() for row in of_one]
    with_adapter = [row for row in rows if ADAPTER in row.team.names]
    assert {len(row.team) for row in with_adapter} >= {1, 2}
    for row in rows:
        assert (row.n_humans, row.n_models) == (len(row.team.humans), len(row.team.models))
    for team in [row.team for row in (*found.policies, *found.policies_chosen)]:
        assert not team.humans
    adding = {row.team.names: row.larger_team.names for row in found.adding_human}
    assert adding[ADAPTER,] == ("human", ADAPTER)
