"""The API's addresses about results, in the namespace `api` (config/urls.py)."""

from django.urls import path

from analysis.api import results

_STUDY = "studies/<slug:slug>/"

urlpatterns = [
    path("schema/report/", results.ReportSchema.as_view(), name="report_schema"),
    path(f"{_STUDY}report/", results.Report.as_view(), name="report"),
    path(f"{_STUDY}report/start/", results.StartReport.as_view(), name="report_start"),
    path(f"{_STUDY}report/stop/", results.StopReport.as_view(), name="report_stop"),
    path(f"{_STUDY}teams/", results.Teams.as_view(), name="teams"),
    path(f"{_STUDY}teams/start/", results.StartTeams.as_view(), name="teams_start"),
    path(f"{_STUDY}teams/stop/", results.StopTeams.as_view(), name="teams_stop"),
]
