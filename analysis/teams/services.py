"""Tries chosen teams of people and models on a study's trials, for the command and the page, and stores what that gives."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from django.utils import timezone
from threadpoolctl import threadpool_limits

from analysis import store
from analysis.codec import to_json
from analysis.data import read
from analysis.data.dataset import Participants, SourceData, StudyName
from analysis.data.version import data_version, participants_kind
from analysis.models import Computation
from analysis.presentation import provenance
from analysis.stats import NotEnough
from analysis.store import Drawing
from analysis.teams.domain.deferral import policies
from analysis.teams.domain.evaluation import MEASURES, MULTIPLICITY, resampling_words
from analysis.teams.domain.evidence import Names, gather
from analysis.teams.domain.folds import Folds, by_item, by_item_and_participant
from analysis.teams.domain.members import chosen_members, wanted_teams
from analysis.teams.domain.resampling import Draws
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
from analysis.teams.figures import draw_teams
from analysis.teams.options import TeamOptions
from analysis.teams.results import Method, TeamsDocument, TriedTeams
from experiment.models import Participant, Study
from experiment.services.reapplying import note_beside_numbers
from experiment.services.study_versions import version_shown

SCHEMA, SCHEMA_VERSION = "brainbench-live/teams", 2
MOST_PREDICTIONS = 5_000_000  # rows of the table of predictions


@dataclass(frozen=True)
class TeamReport:
    """`document` is what --json prints; `tables`: teams, predictions (held-out, per trial) and policies."""

    document: TeamsDocument
    tables: dict[str, pd.DataFrame]

    @property
    def values(self) -> dict[str, Any]:
        """The document as JSON holds it."""
        values: dict[str, Any] = to_json(self.document)
        return values


def make_teams(
    study: Study, options: TeamOptions, progress: Callable[[str], None] | None = None
) -> TeamReport:
    """Fit and try the teams. `progress` gets the label of each of them before its turn.

    Raises:
        UnknownChoiceError: a member or another option does not exist.
        NotEnough: there are no trials or scores that could be combined.
    """
    report_options = options.of_report()
    data = read.read(study, report_options)[options.source]
    kind = participants_kind(study, report_options)
    made_at, version = timezone.localtime(), data_version(study)
    with threadpool_limits(1):
        tried, tables = try_teams(data, options, progress or (lambda _: None))
    document = TeamsDocument(
        schema=SCHEMA,
        schema_version=SCHEMA_VERSION,
        study=StudyName(study.slug, study.title, study.is_demo),
        made_at=made_at.isoformat(timespec="seconds"),
        data_version=version,
        options=options,
        participants=Participants(
            kind,
            str(Participant.Kind(kind).label),
            note_beside_numbers(study, kind),
            rules_version=version_shown(study, kind),
        ),
        source=options.source,
        tried=tried,
    )
    return TeamReport(document, tables)


def try_teams(
    data: SourceData, options: TeamOptions, progress: Progress
) -> tuple[TriedTeams, dict[str, pd.DataFrame]]:
    """What `make_teams` gives, of data that is read; see docs/teams.md."""
    n_humans, models = chosen_members(data, options.members)
    gathered = gather(data, models, n_humans)
    evidence = gathered.evidence
    folds = (by_item if options.out_of == "item" else by_item_and_participant)(
        evidence, seed=data.seed
    )
    method = method_named(options.method, data.seed)
    runs = Runs(evidence)
    teams, shortened = wanted_teams(evidence.names, n_humans, options)
    runs.add(teams, method, folds, progress)
    if not runs.held:
        missing = runs.not_possible[0]
        raise NotEnough(missing.reason, missing.needed)
    draws = Draws.of(evidence, resamples=data.resamples, seed=data.seed)
    results = runs.results(draws)
    found = policies(runs, folds, Method(options.method), draws, seed=data.seed)
    folds_of = runs.folds_of(folds)
    used = folds_of.get(Method(options.method), folds)
    tried = TriedTeams(
        n_trials=len(evidence),
        n_items=len(np.unique(evidence.item)),
        n_participants=len(np.unique(evidence.participant)),
        n_left_out=gathered.n_rows - len(evidence),
        members=member_results(evidence, gathered.missing),
        ratings=gathered.ratings,
        folds=used.words,
        folds_kind=used.kind,
        folds_of={name: of.words for name, of in folds_of.items()},
        teams=tuple(results),
        adding_human=tuple(runs.adding_human(draws)),
        policies=found.points,
        policies_chosen=found.chosen,
        policies_method=found.method,
        not_possible=tuple(runs.not_possible),
        shortened=shortened,
        resamples=draws.resamples,
        seed=data.seed,
        measures=MEASURES,
        multiplicity=MULTIPLICITY.format(n=sum(len(names) > 1 for names, _ in runs.held)),
        method=resampling_words(draws),
    )
    tables = {
        "teams": team_table(results),
        "predictions": _predictions(runs, folds, data),
        "policies": policy_table(found.points),
        "policies_chosen": chosen_policy_table(found.chosen),
    }
    return tried, tables


def _predictions(runs: Runs, folds: Folds, data: SourceData) -> pd.DataFrame:
    """Of all teams; where that would be too long, of the largest one and its members."""
    only: list[Names] | None = None
    if len(runs.evidence) * len(runs.held) > MOST_PREDICTIONS:
        longest = max((names for names, _ in runs.held), key=len)
        only = [longest, *[names for names, _ in runs.held if len(names) == 1]]
    return prediction_table(runs, folds, data.items, only)


def save_teams(computation: Computation, report: TeamReport) -> None:
    document = report.document
    drawings = [Drawing(figure) for figure in draw_teams(document)]
    about = provenance(
        document.study, document.participants, document.made_at, document.data_version
    )
    store.save(computation, report.values, drawings, report.tables, about)
