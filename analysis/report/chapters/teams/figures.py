"""Figures of the panel's teams: those of chosen teams, and expected accuracy by size."""

from analysis.charts.figure import Figure
from analysis.codec import need
from analysis.report.chapter import FigureBuilder, SourceResults, Tables
from analysis.report.chapters.teams.results import Teams
from analysis.teams.figures import FIGURES
from analysis.teams.figures.adding import sizes


def _of_report(name: str) -> FigureBuilder:
    def build(source: SourceResults, tables: Tables) -> Figure:
        return FIGURES[name](need(source.of(Teams).teaming), source.is_simulated)

    return build


teams = _of_report("teams")
teams_gain = _of_report("teams_gain")
teams_adding = _of_report("teams_adding")
teams_complementarity = _of_report("teams_complementarity")
teams_policy = _of_report("teams_policy")


def teams_sizes(source: SourceResults, tables: Tables) -> Figure:
    return sizes(need(need(source.of(Teams).teaming).sizes), source.is_simulated)
