"""Figures of the panel's teams: those of chosen teams, and expected accuracy by size."""

from analysis.charts.figure import Figure
from analysis.codec import need
from analysis.report.chapter import SourceResults, Tables
from analysis.report.chapters.teams.results import Teams
from analysis.teams.figures.accuracy import accuracy, gain
from analysis.teams.figures.adding import adding, sizes
from analysis.teams.figures.deciding import complementarity, deferral


def teams(source: SourceResults, tables: Tables) -> Figure:
    return accuracy(need(source.of(Teams).teaming), source.is_simulated)


def teams_gain(source: SourceResults, tables: Tables) -> Figure:
    return gain(need(source.of(Teams).teaming), source.is_simulated)


def teams_adding(source: SourceResults, tables: Tables) -> Figure:
    return adding(need(source.of(Teams).teaming), source.is_simulated)


def teams_complementarity(source: SourceResults, tables: Tables) -> Figure:
    return complementarity(need(source.of(Teams).teaming), source.is_simulated)


def teams_policy(source: SourceResults, tables: Tables) -> Figure:
    return deferral(need(source.of(Teams).teaming), source.is_simulated)


def teams_sizes(source: SourceResults, tables: Tables) -> Figure:
    return sizes(need(need(source.of(Teams).teaming).sizes), source.is_simulated)
