"""The lab's pages about people, in the namespace `lab` (config/urls.py)."""

from django.urls import include, path

from experiment.lab import views

urlpatterns = [
    path("", views.studies, name="studies"),
    path("", include("experiment.lab.members.urls")),
    path("", include("experiment.lab.work.urls")),
    path("", include("experiment.lab.setup.urls")),
    path("", include("experiment.lab.tokens.urls")),
    path("", include("experiment.lab.fields.urls")),
    path("fields/<slug:field>/", include("experiment.lab.item_files.urls")),
    path("fields/<slug:field>/questions/", include("experiment.lab.questions.urls")),
    path("fields/<slug:field>/items/<int:pk>/", include("experiment.lab.checks.urls")),
    path("fields/<slug:field>/items/", include("experiment.lab.items.urls")),
    path("fields/<slug:field>/items/", include("experiment.lab.editor.urls")),
    path("studies/<slug:slug>/", include("experiment.lab.watch.urls")),
    path("studies/<slug:slug>/", include("experiment.lab.export.urls")),
    path("studies/<slug:slug>/test-cases/", include("experiment.lab.curation.urls")),
    path("studies/<slug:slug>/", include("experiment.lab.privacy.urls")),
    path("studies/<slug:slug>/dry-runs/", include("experiment.lab.dry_run.urls")),
    path("studies/<slug:slug>/recruitment/", include("experiment.lab.recruitment.urls")),
]
