"""`teaming`: what people and models reach together, by every way of combining, on trials that no fit has seen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.codec import try_estimate
from analysis.data.dataset import SourceData
from analysis.report.chapter import Built
from analysis.stats import MissingResult, NotEnough
from analysis.teams.domain.deferral import policies
from analysis.teams.domain.evaluation import MULTIPLICITY
from analysis.teams.domain.evidence import HUMAN, Names, gather
from analysis.teams.domain.families import (
    AND_DEFERRAL,
    AND_METHODS,
    AND_OTHERS,
    OTHERS,
    TEAMS,
    TOGETHER,
    concluded,
)
from analysis.teams.domain.runs import METHODS, Runs, method_named
from analysis.teams.domain.sizes import sizes
from analysis.teams.domain.tables import tables
from analysis.teams.domain.trying import (
    complete_models,
    in_common,
    subsets,
    usual_members,
)
from analysis.teams.results import (
    AddingHuman,
    MemberKind,
    MemberResult,
    Method,
    Team,
    TeamingResult,
    TeamResult,
)

SHOWN = "the teams of the report's members and of two people"


@dataclass(frozen=True)
class Teams:
    teaming: TeamingResult | MissingResult


def build_teams(data: SourceData) -> Built:
    """Teams of the panel by every method, and each model with a human; see docs/results.md.

    Raises NotEnough below two members, or two items.
    """
    n_humans, panel, panel_rule = usual_members(data)
    models = complete_models(data)
    gathered = gather(data, models, n_humans)
    evidence, runs = gathered.evidence, Runs.of(gathered.evidence, data)
    of_panel = {HUMAN} | {str(data.models["name"].iloc[m]) for m in panel}
    chosen: Names = tuple(name for name in evidence.names if name in of_panel)
    others = n_humans and set(evidence.names) - set(chosen)
    _try_all(runs, chosen, data.seed)
    pairs, adding_pairs = _people_together(data) if n_humans else ([], [])
    # The panel's models decide, each alone and all together
    models_of_panel = tuple(m.name for m in evidence.of(chosen).members if not m.is_human)
    deciders = list(dict.fromkeys([*((name,) for name in models_of_panel), models_of_panel]))
    found = policies(runs, Method.LOGISTIC, of=deciders)

    def question(team: Team) -> str:
        """The teams that the chapter shows are one question; each other model with a human is another."""
        return TEAMS if all(m.is_human or m.name in chosen for m in team.members) else OTHERS

    known = concluded(
        [*runs.results(), *pairs],
        [*runs.adding_human(), *adding_pairs],
        found.chosen,
        main=Method.LOGISTIC,
        question=question,
        sizes=(runs.draws.n_items, runs.draws.n_people),
    )
    together, found = known.rows, replace(found, chosen=known.chosen)
    family = TOGETHER.format(
        teams=SHOWN,
        others=AND_OTHERS if others else "",
        methods=AND_METHODS,
        deferral=AND_DEFERRAL if found.chosen else "",
    )
    result = TeamingResult(
        **in_common(gathered, runs, _left_out(data, models)),
        panel=chosen,
        panel_rule=panel_rule,
        folds=runs.folds.words,
        folds_kind=runs.folds.kind,
        logistic=_of(Method.ALONE, together) + _of(Method.LOGISTIC, together),
        as_published=_of(Method.AS_PUBLISHED, together),
        bayesian=_of(Method.BAYESIAN, together),
        majority=_of(Method.MAJORITY, together),
        most_confident=_of(Method.MOST_CONFIDENT, together),
        average=_of(Method.AVERAGE, together),
        policies=found.points,
        policies_chosen=found.chosen,
        policies_method=found.method,
        sizes=try_estimate(sizes, evidence, runs.folds, data.seed),
        adding_human=known.adding,
        multiplicity=MULTIPLICITY.format(family=family),
    )
    predicted = list(subsets(chosen, len(chosen)))
    named = tables(runs, data.items, together, found, predicted=predicted, prefix="team_")
    return Built(Teams(result), named)


def _of(method: Method, rows: Sequence[TeamResult]) -> tuple[TeamResult, ...]:
    return tuple(row for row in rows if row.method == method)


def _try_all(runs: Runs, chosen: Names, seed: int) -> None:
    """All teams of the panel by every method, the Bayesian one in pairs; by the logistic one also every model with a human."""
    teams = list(subsets(chosen, len(chosen)))
    others = [name for name in runs.evidence.names if name not in chosen]
    people = [m.name for m in runs.evidence.of(chosen).members if m.is_human]
    alone = [(name,) for name in others]
    joined = [(*people, name) for name in others] if people else []
    runs.add([*teams, *alone, *joined], METHODS[Method.LOGISTIC])
    for name in METHODS:
        if name != Method.LOGISTIC:
            sizes = (2,) if name == Method.BAYESIAN else range(2, len(chosen) + 1)
            fitting = [team for team in teams if len(team) in sizes]
            runs.add(fitting, method_named(name, seed))


def _left_out(data: SourceData, models: Sequence[int]) -> list[MemberResult]:
    """The study's models that did not score every judged test case."""
    judged = data.item_counts > 0
    return [
        MemberResult(
            name=str(data.models["name"].iloc[m]),
            kind=MemberKind.MODEL,
            display_name=str(data.models["display_name"].iloc[m]),
            family=str(data.models["family"].iloc[m] or ""),
            method=str(data.models["method"].iloc[m]),
            n_correct=None,
            n_ties=None,
            accuracy=None,
            n_missing=int((judged & ~np.isfinite(data.difficulty[m])).sum()),
        )
        for m in data.set_models
        if m not in models
    ]


def _people_together(data: SourceData) -> tuple[list[TeamResult], list[AddingHuman]]:
    """Two people who judged the same test case; nothing where there are none."""
    try:
        evidence = gather(data, [], 2).evidence
        runs = Runs.of(evidence, data)
    except NotEnough:
        return [], []
    for name in METHODS:
        runs.add([evidence.names[:1], evidence.names], method_named(name, data.seed))
    rows = [row for row in runs.results() if row.method != Method.ALONE]
    return rows, runs.adding_human()
