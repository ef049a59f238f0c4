"""Chosen teams tried on a study's trials; and what all results of teams say of the trials that they are about."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.dataset import SourceData
from analysis.stats import NotEnough
from analysis.teams.domain.deferral import policies
from analysis.teams.domain.evaluation import MEASURES, MULTIPLICITY, resampling_words
from analysis.teams.domain.evidence import Gathered, gather
from analysis.teams.domain.folds import by_item, by_item_and_participant
from analysis.teams.domain.members import chosen_members, wanted_teams
from analysis.teams.domain.runs import (
    Progress,
    Runs,
    chosen_policy_table,
    member_results,
    method_named,
    policy_table,
    prediction_table,
    team_table,
)
from analysis.teams.options import TeamOptions
from analysis.teams.results import MemberResult, Method, TriedTeams

MOST_PREDICTIONS = 5_000_000  # rows of the table of predictions


def try_teams(
    data: SourceData, options: TeamOptions, progress: Progress
) -> tuple[TriedTeams, dict[str, pd.DataFrame]]:
    """Teams of the members that the options name, with their tables; see docs/teams.md.

    Raises:
        UnknownChoiceError: a member does not exist.
        NotEnough: there are no trials or scores that could be combined.
    """
    n_humans, models = chosen_members(data, options.members)
    gathered = gather(data, models, n_humans)
    hold_out = by_item if options.out_of == "item" else by_item_and_participant
    runs = Runs.of(gathered.evidence, data, hold_out)
    teams, shortened = wanted_teams(runs.evidence.names, n_humans, options)
    runs.add(teams, method_named(options.method, data.seed), progress)
    if not runs.held:
        missing = runs.not_possible[0]
        raise NotEnough(missing.reason, missing.needed)
    method, results = Method(options.method), runs.results()
    found = policies(runs, method)
    used = runs.folds_of.get(method, runs.folds)
    tried = TriedTeams(
        **in_common(gathered, runs),
        folds=used.words,
        folds_kind=used.kind,
        teams=tuple(results),
        adding_human=tuple(runs.adding_human()),
        policies=found.points,
        policies_chosen=found.chosen,
        policies_method=found.method,
        shortened=shortened,
        multiplicity=MULTIPLICITY.format(n=sum(len(names) > 1 for names, _ in runs.held)),
    )
    tables = {
        "teams": team_table(results),
        "predictions": _predictions(runs, data),
        "policies": policy_table(found.points),
        "policies_chosen": chosen_policy_table(found.chosen),
    }
    return tried, tables


def in_common(
    gathered: Gathered, runs: Runs, left_out: Iterable[MemberResult] = ()
) -> dict[str, Any]:
    """Of TeamResults what follows from the trials and how they are held out and resampled; left_out: of its members."""
    evidence, draws = runs.evidence, runs.draws
    return {
        "n_trials": len(evidence),
        "n_items": len(np.unique(evidence.item)),
        "n_participants": len(np.unique(evidence.participant)),
        "n_left_out": gathered.n_rows - len(evidence),
        "members": member_results(evidence, gathered.missing, left_out),
        "ratings": gathered.ratings,
        "folds_of": {name: of.words for name, of in runs.folds_of.items()},
        "not_possible": tuple(runs.not_possible),
        "resamples": draws.resamples,
        "seed": draws.seed,
        "measures": MEASURES,
        "method": resampling_words(draws),
    }


def _predictions(runs: Runs, data: SourceData) -> pd.DataFrame:
    """Of all teams; where that would be too long, of the largest one and its members."""
    only = None
    if len(runs.evidence) * len(runs.held) > MOST_PREDICTIONS:
        longest = max((names for names, _ in runs.held), key=len)
        only = [longest, *[names for names, _ in runs.held if len(names) == 1]]
    return prediction_table(runs, data.items, only)
