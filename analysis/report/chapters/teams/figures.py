"""Figures of the panel's teams: those of chosen teams, and expected accuracy by size."""

from collections.abc import Mapping

from analysis.charts.figure import Figure
from analysis.codec import need
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.teams.results import Teams
from analysis.teams.figures import FIGURES as OF_TEAMS
from analysis.teams.figures import Draw
from analysis.teams.figures.sizes import sizes


def _of_report(draw: Draw) -> FigureBuilder:
    def build(source: SourceResults, tables: Tables) -> Figure:
        return draw(need(source.of(Teams).teaming), source.is_simulated)

    return build


def teams_sizes(source: SourceResults, tables: Tables) -> Figure:
    return sizes(need(need(source.of(Teams).teaming).sizes), source.is_simulated)


FIGURES: Mapping[str, FigureBuilder] = {
    **{name: _of_report(draw) for name, draw in OF_TEAMS.items()},
    "teams_sizes": teams_sizes,
}
