"""Answers to the checks of a test case."""

from django.urls import path

from experiment.lab.checks import views

urlpatterns = [path("explain/", views.explain_finding, name="explain_finding")]
