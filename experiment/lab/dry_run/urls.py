"""Dry runs; below /lab/studies/<slug>/."""

from django.urls import path

from experiment.lab.dry_run import views

urlpatterns = [
    path("", views.dry_runs, name="dry_runs"),
    path("ask/", views.ask, name="dry_run_ask"),
    path("remove/", views.remove, name="dry_run_remove"),
    path("<int:pk>/", views.dry_run, name="dry_run"),
    path("<int:pk>/live/", views.live, name="dry_run_live"),
    path("<int:pk>/stop/", views.stop, name="dry_run_stop"),
    path("<int:pk>/sample.csv", views.sample, name="dry_run_sample"),
]
