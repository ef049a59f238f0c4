"""The lab's pages about models, in the namespace `lab` (config/urls.py)."""

from django.urls import include, path

from scoring.lab import views
from scoring.lab.imports import views as import_views

_MODELS = "studies/<slug:slug>/models/"
_RUN = f"{_MODELS}<int:pk>/"

urlpatterns = [
    path("fields/<slug:field>/drafting/", include("scoring.lab.drafting.urls")),
    path("studies/<slug:slug>/answering/", include("scoring.lab.answering.urls")),
    path("studies/<slug:slug>/grading/", include("scoring.lab.grading.urls")),
    path("training/", include("scoring.lab.training.urls")),
    path("imports/", import_views.imports, name="imports"),
    path("imports/corpus/", import_views.corpus_start, name="corpus_start"),
    path("imports/live/", import_views.imports_live, name="imports_live"),
    path("imports/start/", import_views.imports_start, name="imports_start"),
    path(_MODELS, views.models, name="scoring"),
    path(f"{_MODELS}live/", views.models_live, name="scoring_live"),
    path(f"{_MODELS}queue/", views.queue, name="scoring_queue"),
    path(_RUN, views.run, name="scoring_run"),
    path(f"{_RUN}live/", views.run_live, name="scoring_run_live"),
    path(f"{_RUN}scores.csv", views.scores, name="scoring_scores"),
    path(f"{_RUN}cancel/", views.cancel, name="scoring_cancel"),
    path(f"{_RUN}resume/", views.resume, name="scoring_resume"),
]
