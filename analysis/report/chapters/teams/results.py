"""`teaming`: what people and models reach together, by every way of combining, on trials that no fit has seen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.codec import try_estimate
from analysis.data.dataset import SourceData
from analysis.report.chapter import Built
from analysis.stats import MissingResult, NotEnough
from analysis.teams.domain.default_members import complete_models, usual_members
from analysis.teams.domain.evaluation import MEASURES, MULTIPLICITY, evaluate, resampling_words
from analysis.teams.domain.evidence import Evidence, Names
from analysis.teams.domain.folds import Folds, by_item, in_blocks
from analysis.teams.domain.gather import HUMAN, gather
from analysis.teams.domain.methods import METHODS, method_named
from analysis.teams.domain.policies import policies
from analysis.teams.domain.resampling import Draws
from analysis.teams.domain.runs import Runs, corrected_adding, corrected_gains, member_results
from analysis.teams.domain.search import (
    GREEDY,
    MOST_MEMBERS,
    N_BLOCKS,
    greedy,
    greedy_nested,
    subsets,
)
from analysis.teams.domain.sizes import sizes
from analysis.teams.domain.tables import (
    chosen_policy_table,
    policy_table,
    prediction_table,
    team_table,
)
from analysis.teams.results import (
    AddingHuman,
    Greedy,
    MemberKind,
    MemberResult,
    Method,
    Team,
    TeamingResult,
    TeamResult,
)

GREEDY_FROM = 5  # members; fewer form all their teams anyway
# Chosen in each fold anew, so it has no members
NESTED_TEAM = Team(label="", names=(), display_name="chosen in each fold", members=())


@dataclass(frozen=True)
class Teams:
    teaming: TeamingResult | MissingResult


def build_teams(data: SourceData) -> Built:
    """Teams of the panel by every method, and each model with a human; see docs/teams.md.

    Raises NotEnough below two members, or two items.
    """
    n_humans, panel, panel_rule = usual_members(data)
    models = complete_models(data)
    gathered = gather(data, models, n_humans)
    evidence, folds = gathered.evidence, by_item(gathered.evidence, seed=data.seed)
    of_panel = {HUMAN} | {str(data.models["name"].iloc[m]) for m in panel}
    chosen: Names = tuple(name for name in evidence.names if name in of_panel)
    draws = Draws.of(evidence, resamples=data.resamples, seed=data.seed)
    runs = Runs(evidence)
    _try_all(runs, chosen, folds, data.seed)
    rows = runs.results(draws)
    pairs, adding_pairs = _people_together(data) if n_humans else ([], [])
    together = corrected_gains([*rows, *pairs])
    found = policies(
        runs, folds, Method.LOGISTIC, draws, of=_deciders(evidence, chosen), seed=data.seed
    )
    result = TeamingResult(
        n_trials=len(evidence),
        n_items=len(np.unique(evidence.item)),
        n_participants=len(np.unique(evidence.participant)),
        n_left_out=gathered.n_rows - len(evidence),
        members=member_results(evidence, gathered.missing, _left_out(data, models)),
        ratings=gathered.ratings,
        panel=chosen,
        panel_rule=panel_rule,
        folds=folds.words,
        folds_kind=folds.kind,
        folds_of={method: of.words for method, of in runs.folds_of(folds).items()},
        logistic=tuple(row for row in rows if row.method == Method.ALONE)
        + _of(Method.LOGISTIC, together),
        improved=_of(Method.IMPROVED, together),
        bayesian=_of(Method.BAYESIAN, together),
        majority=_of(Method.MAJORITY, together),
        most_confident=_of(Method.MOST_CONFIDENT, together),
        average=_of(Method.AVERAGE, together),
        policies=found.points,
        policies_chosen=found.chosen,
        policies_method=found.method,
        sizes=try_estimate(sizes, evidence, folds, data.seed),
        adding_human=tuple(corrected_adding([*runs.adding_human(draws), *adding_pairs])),
        greedy=_greedy(evidence, draws, data.seed),
        not_possible=tuple(runs.not_possible),
        resamples=draws.resamples,
        seed=data.seed,
        measures=MEASURES,
        multiplicity=MULTIPLICITY.format(n="each method's"),
        method=resampling_words(draws),
    )
    tables = {
        "teams": team_table(together),
        "team_policies": policy_table(found.points),
        "team_policies_chosen": chosen_policy_table(found.chosen),
        "team_predictions": prediction_table(
            runs, folds, data.items, only=list(subsets(chosen, len(chosen)))
        ),
    }
    return Built(Teams(result), tables)


def _of(method: Method, rows: Sequence[TeamResult]) -> tuple[TeamResult, ...]:
    return tuple(row for row in rows if row.method == method)


def _deciders(evidence: Evidence, chosen: Names) -> list[Names]:
    """The panel's models, each alone and all together."""
    models = tuple(m.name for m in evidence.of(chosen).members if not m.is_human)
    return list(dict.fromkeys([*((name,) for name in models), models]))


def _try_all(runs: Runs, chosen: Names, folds: Folds, seed: int) -> None:
    """All teams of the panel by every method, the Bayesian one in pairs; by the published one also every model with a human."""
    teams = list(subsets(chosen, len(chosen)))
    others = [name for name in runs.evidence.names if name not in chosen]
    people = [m.name for m in runs.evidence.of(chosen).members if m.is_human]
    alone = [(name,) for name in others]
    joined = [(*people, name) for name in others] if people else []
    runs.add([*teams, *alone, *joined], METHODS[Method.LOGISTIC], folds)
    for name in METHODS:
        if name != Method.LOGISTIC:
            sizes = (2,) if name == Method.BAYESIAN else range(2, len(chosen) + 1)
            fitting = [team for team in teams if len(team) in sizes]
            runs.add(fitting, method_named(name, seed), folds)


def _left_out(data: SourceData, models: Sequence[int]) -> list[MemberResult]:
    """The study's models that did not score every judged test case."""
    judged = data.item_counts > 0
    return [
        MemberResult(
            name=str(data.models["name"].iloc[m]),
            kind=MemberKind.MODEL,
            display_name=str(data.models["display_name"].iloc[m]),
            family=str(data.models["family"].iloc[m] or ""),
            n_correct=None,
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
        folds = by_item(evidence, seed=data.seed)
    except NotEnough:
        return [], []
    runs = Runs(evidence)
    for name in METHODS:
        runs.add([evidence.names[:1], evidence.names], method_named(name, data.seed), folds)
    draws = Draws.of(evidence, resamples=data.resamples, seed=data.seed)
    rows = [row for row in runs.results(draws) if row.method != Method.ALONE]
    return rows, runs.adding_human(draws)


def _greedy(evidence: Evidence, draws: Draws, seed: int) -> Greedy | MissingResult:
    if len(evidence.members) < GREEDY_FROM:
        return MissingResult(
            f"There are {len(evidence.members)} members, whose teams are all shown.",
            f"A search is made from {GREEDY_FROM} members on.",
        )
    blocks = in_blocks(evidence, N_BLOCKS, seed=seed)
    method = METHODS[Method.LOGISTIC]
    nested = greedy_nested(evidence, method, blocks, seed=seed)
    return Greedy(
        steps=tuple(greedy(evidence, method, blocks)),
        nested=replace(evaluate(evidence, nested.held, Method.GREEDY, draws), team=NESTED_TEAM),
        chosen=nested.chosen,
        n_folds=len(nested.teams),
        method=GREEDY.format(folds="10 random blocks of items", most=MOST_MEMBERS),
    )
