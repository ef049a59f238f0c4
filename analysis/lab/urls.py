"""The lab's pages about results, in the namespace `lab` (config/urls.py)."""

from django.urls import include, path

from analysis.lab import compare, report, teams, trace
from analysis.lab.items import study

_RESULTS = "studies/<slug:slug>/results/"
_TEAMS = f"{_RESULTS}teams/"

urlpatterns = [
    path("fields/<slug:field>/", include("analysis.lab.items.urls")),
    path("studies/<slug:slug>/test-cases/", study.test_cases, name="test_cases"),
    path("studies/<slug:slug>/documents/", include("analysis.lab.documents.urls")),
    path(_RESULTS, report.results, name="results"),
    path(f"{_RESULTS}retry/", report.results_retry, name="results_retry"),
    path(f"{_RESULTS}stop/", report.results_stop, name="results_stop"),
    path(f"{_RESULTS}live/", report.results_live, name="results_live"),
    path(
        f"{_RESULTS}figures/<slug:name>.<slug:kind>", report.results_figure, name="results_figure"
    ),
    path(f"{_RESULTS}tables/<slug:name>.csv", report.results_table, name="results_table"),
    path(f"{_RESULTS}report.json", report.results_report, name="results_report"),
    path(f"{_RESULTS}report.html", report.results_html, name="results_html"),
    path(f"{_RESULTS}compare/", compare.compare, name="compare"),
    path(f"{_RESULTS}compare/live/", compare.compare_live, name="compare_live"),
    path(f"{_RESULTS}trace/", trace.trace, name="results_trace"),
    path(f"{_RESULTS}trace.svg", trace.trace_picture, name="results_trace_picture"),
    path(_TEAMS, teams.teams, name="results_teams"),
    path(f"{_TEAMS}live/", teams.teams_live, name="results_teams_live"),
    path(f"{_TEAMS}retry/", teams.teams_retry, name="results_teams_retry"),
    path(f"{_TEAMS}stop/", teams.teams_stop, name="results_teams_stop"),
    path(
        f"{_TEAMS}figures/<slug:name>.<slug:kind>",
        teams.teams_figure,
        name="results_teams_figure",
    ),
    path(f"{_TEAMS}tables/<slug:name>.csv", teams.teams_table, name="results_teams_table"),
    path(f"{_TEAMS}teams.json", teams.teams_json, name="results_teams_json"),
]
