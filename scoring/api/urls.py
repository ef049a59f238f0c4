"""The API's addresses about models, in the namespace `api` (config/urls.py)."""

from django.urls import path

from scoring.api import answers, choices, machines, work

_STUDY = "studies/<slug:slug>/"

urlpatterns = [
    path(f"{_STUDY}models/", machines.Models.as_view(), name="models"),
    path(f"{_STUDY}runs/", machines.Runs.as_view(), name="runs"),
    path(f"{_STUDY}runs/start/", work.StartRuns.as_view(), name="runs_start"),
    path(f"{_STUDY}runs/<int:pk>/", machines.OneRun.as_view(), name="run"),
    path(f"{_STUDY}runs/<int:pk>/stop/", work.StopRun.as_view(), name="run_stop"),
    path(f"{_STUDY}answering-runs/", answers.AnsweringRuns.as_view(), name="answering_runs"),
    path(f"{_STUDY}answers/", answers.Answers.as_view(), name="answers"),
    path(f"{_STUDY}choice-runs/", choices.ChoiceRuns.as_view(), name="choice_runs"),
    path(f"{_STUDY}choices/", choices.Choices.as_view(), name="choices"),
    path(f"{_STUDY}scores/", machines.Scores.as_view(), name="scores"),
]
