"""Watching a study; below /lab/studies/<slug>/."""

from django.urls import path

from experiment.lab.watch import people, views

urlpatterns = [
    path("", views.study, name="study"),
    path("live/", views.study_live, name="study_live"),
    path("participants/", people.participants, name="participants"),
    path("participants/<uuid:public_id>/", people.participant, name="participant"),
]
