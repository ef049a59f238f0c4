"""The lab's pages about results, in the namespace `lab` (config/urls.py)."""

from django.urls import URLPattern, path

from analysis.lab import advice, compare, items, results, trace
from analysis.lab.documents import page as documents

_FIELD = "fields/<slug:field>/"
_RESULTS = "studies/<slug:slug>/results/"
_TEAMS = f"{_RESULTS}teams/"


def _pages(place: str, name: str) -> list[URLPattern]:
    """A page of results, what moves it, and its files."""
    page = {"page": name}
    return [
        path(place, results.show, page, name),
        path(f"{place}live/", results.live, page, f"{name}_live"),
        path(f"{place}retry/", results.retry, page, f"{name}_retry"),
        path(f"{place}stop/", results.stop, page, f"{name}_stop"),
        path(f"{place}figures/<slug:name>.<slug:kind>", results.figure, page, f"{name}_figure"),
        path(f"{place}tables/<slug:name>.csv", results.table, page, f"{name}_table"),
    ]


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
    path("studies/<slug:slug>/set-up/advice/", advice.advice, name="setup_advice"),
    path("studies/<slug:slug>/documents/", documents.documents, name="documents"),
    path(
        "studies/<slug:slug>/documents/<slug:name>.<slug:form>",
        documents.document,
        name="document",
    ),
    path(f"{_RESULTS}report.json", results.numbers, {"page": "results"}, "results_report"),
    path(f"{_RESULTS}report.html", results.html, name="results_html"),
    path(f"{_RESULTS}compare/", compare.compare, name="compare"),
    path(f"{_RESULTS}compare/live/", compare.compare_live, name="compare_live"),
    path(f"{_RESULTS}trace/", trace.trace, name="results_trace"),
    path(f"{_RESULTS}trace.svg", trace.trace_picture, name="results_trace_picture"),
    path(f"{_TEAMS}teams.json", results.numbers, {"page": "results_teams"}, "results_teams_json"),
    *_pages(_RESULTS, "results"),
    *_pages(_TEAMS, "results_teams"),
]
