"""Tries chosen teams of people and models on a study's trials, for the command and the page, and stores what that gives."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
from django.utils import timezone
from threadpoolctl import threadpool_limits

from analysis import store
from analysis.codec import to_json
from analysis.data import read
from analysis.data.about import Participants, StudyName
from analysis.data.version import data_version, participants_kind
from analysis.models import Computation
from analysis.presentation import provenance
from analysis.store import Drawing
from analysis.teams.domain.trying import try_teams
from analysis.teams.figures import draw_teams
from analysis.teams.options import TeamOptions
from analysis.teams.results import TeamsDocument
from experiment.models import Participant, Study
from experiment.services.reapplying import note_beside_numbers
from experiment.services.study_versions import version_shown

SCHEMA, SCHEMA_VERSION = "brainbench-live/teams", 4


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
    kind = participants_kind(study, report_options)
    made_at, version = timezone.localtime(), data_version(study)
    data = read.read(study, report_options, only_pairs=True)[options.source]
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


def save_teams(computation: Computation, report: TeamReport) -> None:
    document = report.document
    drawings = [Drawing(figure) for figure in draw_teams(document)]
    about = provenance(
        document.study, document.participants, document.made_at, document.data_version
    )
    store.save(computation, report.values, drawings, report.tables, about)
