"""Stores a trial of teams: its numbers, its tables and its figures."""

from analysis import store
from analysis.models import Computation
from analysis.presentation import provenance
from analysis.store import Drawing
from analysis.teams.figures import draw_teams
from analysis.teams.services.try_teams import TeamReport


def save_teams(computation: Computation, report: TeamReport) -> None:
    document = report.document
    drawings = [Drawing(figure) for figure in draw_teams(document)]
    about = provenance(
        document.study, document.participants, document.made_at, document.data_version
    )
    store.save(computation, report.values, drawings, report.tables, about)
