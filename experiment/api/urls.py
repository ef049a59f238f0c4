"""The API's addresses about people, in the namespace `api` (config/urls.py)."""

from django.urls import path

from experiment.api import items, people, recruitment, studies, trials

_STUDY = "studies/<slug:slug>/"

urlpatterns = [
    path("studies/", studies.Studies.as_view(), name="studies"),
    path(_STUDY, studies.OneStudy.as_view(), name="study"),
    path(f"{_STUDY}items/", items.Items.as_view(), name="items"),
    path(f"{_STUDY}participants/", people.Participants.as_view(), name="participants"),
    path(f"{_STUDY}trials/", trials.Trials.as_view(), name="trials"),
    path(f"{_STUDY}exclusions/", people.Exclusions.as_view(), name="exclusions"),
    path(f"{_STUDY}exposures/", items.Exposures.as_view(), name="exposures"),
    path(f"{_STUDY}recruitment/", recruitment.Recruitment.as_view(), name="recruitment"),
]
