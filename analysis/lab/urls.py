"""The lab's pages about results, in the namespace `lab` (config/urls.py)."""

from django.urls import path

from analysis.lab import compare, documents, items, report, teams, trace

_FIELD = "fields/<slug:field>/"
_RESULTS = "studies/<slug:slug>/results/"
_TEAMS = f"{_RESULTS}teams/"

urlpatterns = [
    path(_FIELD, items.field, name="field"),
    path(f"{_FIELD}views/", items.save_view, name="save_view"),
    path(f"{_FIELD}views/delete/", items.delete_view, name="delete_view"),
    path(f"{_FIELD}items/<int:pk>/statistics/", items.item_statistics, name="item_statistics"),
    path(
        f"{_FIELD}items/<int:pk>/statistics.svg",
        items.item_statistics_picture,
        name="item_statistics_picture",
    ),
    path("studies/<slug:slug>/test-cases/", items.test_cases, name="test_cases"),
    path("studies/<slug:slug>/documents/", documents.documents, name="documents"),
    path(
        "studies/<slug:slug>/documents/<slug:name>.<slug:form>",
        documents.document,
        name="document",
    ),
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
