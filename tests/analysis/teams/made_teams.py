"""Trials of teams on a few simulated judgments, computed once; and figures that are never drawn."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.data.about import Participants, StudyName
from analysis.data.dataset import SourceData
from analysis.stats.verdicts import Verdict
from analysis.teams.domain.evidence import gather
from analysis.teams.domain.folds import by_item
from analysis.teams.domain.sizes import sizes
from analysis.teams.domain.trying import try_teams
from analysis.teams.options import TeamOptions
from analysis.teams.results import Method, TeamingResult, TeamResult, TeamsDocument, TriedTeams
from tests.analysis.made import make_data

ADAPTER = "org/base + org/adapter"  # the name of the last model
LONG = "Some-Language-Model-{}B (instruct), tuned on papers, LoRA r={}"
SIMULATED = Participants("simulated", "simulated", "Simulated participants: no person took part.")  # fmt: skip
REAL = Participants("real", "real", "")


@cache
def data(n_models: int = 3, n_participants: int = 10, *, is_long: bool = False) -> SourceData:
    made = make_data(n_participants=n_participants, n_items=12, n_models=n_models, resamples=50)
    names = [*made.models["name"][:-1], ADAPTER]
    shown = [LONG.format(n, n) for n in range(n_models)] if is_long else made.models["display_name"]
    return replace(made, models=made.models.assign(name=names, display_name=shown))


@cache
def tried(
    n_models: int = 3,
    n_humans: int = 1,
    method: str = "logistic",
    *,
    up_to: int = 0,
    is_long: bool = False,
) -> TriedTeams:
    """All teams of these members, or those of at most `up_to`."""
    own = data(n_models, is_long=is_long)
    members = ("human",) * n_humans + tuple(own.models["name"])
    options = TeamOptions(members=members, method=method, all_subsets=True, up_to=up_to)
    return try_teams(own, options, lambda _: None)[0]


def document(found: TriedTeams, who: Participants = REAL, **options: Any) -> TeamsDocument:
    return TeamsDocument(
        schema="brainbench-live/teams",
        schema_version=1,
        study=StudyName("memory", "Memory", False),
        made_at="2026-03-02T09:30:00+00:00",
        data_version="",
        options=TeamOptions(**options),
        participants=who,
        source="human",
        tried=found,
    )


@cache
def teaming(n_models: int = 3, n_humans: int = 1, *, is_long: bool = False) -> TeamingResult:
    """A report's teams by three methods, of a panel of all members."""
    up_to = 0 if n_models <= 3 else 3
    by_method = {
        method: tried(n_models, n_humans, method, up_to=up_to, is_long=is_long)
        for method in (Method.LOGISTIC, Method.AVERAGE, Method.MAJORITY)
    }
    first = by_method[Method.LOGISTIC]
    evidence = gather(data(n_models, is_long=is_long), list(range(n_models)), n_humans).evidence
    shared = {name: getattr(first, name) for name in TeamingResult.__dataclass_fields__ if hasattr(first, name)}  # fmt: skip
    found = {
        method: tuple(r for r in own.teams if r.method == method)
        for method, own in by_method.items()
    }
    return TeamingResult(
        **shared,
        panel=tuple(m.name for m in first.members),
        panel_rule="The rule of the panel.",
        logistic=first.teams,
        average=found[Method.AVERAGE],
        majority=found[Method.MAJORITY],
        bayesian=(),
        as_published=(),
        most_confident=(),
        sizes=sizes(evidence, by_item(evidence, seed=1), 1),
    )  # fmt: skip


def without_intervals(found: TriedTeams) -> TriedTeams:
    """As with one item: nothing can be resampled."""
    none = dict.fromkeys(("accuracy_ci95", "gain_ci95", "gain_p", "gain_p_holm", "gain_tests", "gain_se", "selector_accuracy_ci95"))  # fmt: skip
    bare = dict.fromkeys(("ci95", "p", "se"))
    return replace(
        found,
        teams=tuple(
            replace(r, **none, gain_verdict=Verdict.TOO_FEW if len(r.team) > 1 else None)
            for r in found.teams
        ),
        adding_human=tuple(
            replace(
                row,
                gain=replace(row.gain, **bare),
                p_holm=None,
                n_tests=None,
                verdict=Verdict.TOO_FEW,
            )
            for row in found.adding_human
        ),
        policies=tuple(replace(p, accuracy_ci95=None) for p in found.policies),
        policies_chosen=tuple(
            replace(p, accuracy_ci95=None, gain_ci95=None) for p in found.policies_chosen
        ),
    )


def of_team(found: TriedTeams, *names: str) -> TeamResult:
    return next(r for r in found.teams if r.team.names == names)


def figures(document: TeamsDocument) -> Iterator[Figure]:
    """One figure that belongs to the teams, and one to no section."""
    table = pd.DataFrame({"who": ["humans", "=1+1"], "accuracy": [0.6, 0.75]})
    chart = alt.Chart(table, width=300, height=80).mark_point().encode(x="accuracy:Q", y="who:N")
    for name in ("teams", "something_else"):
        yield Figure(name, f"Title of {name}", "n = 80 trials.", f"Alt of {name}", table, chart)
