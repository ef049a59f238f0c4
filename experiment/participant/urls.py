from django.urls import path

from experiment.participant import views
from experiment.participant.entry import entry

app_name = "participant"

urlpatterns = [
    path("<slug:slug>/", entry, name="entry"),
    path("<slug:slug>/about-you/", views.demographics, name="demographics"),
    path("<slug:slug>/questions-before/", views.survey_before, name="survey_before"),
    path("<slug:slug>/practice/", views.practice, name="practice"),
    path("<slug:slug>/start/", views.start, name="start"),
    path("<slug:slug>/trial/<int:position>/", views.trial, name="trial"),
    path("<slug:slug>/questions-after/", views.survey_after, name="survey_after"),
    path("<slug:slug>/debrief/", views.debrief, name="debrief"),
    path("<slug:slug>/done/", views.done, name="done"),
    path("<slug:slug>/ping/", views.ping, name="ping"),
    path("<slug:slug>/return/", views.come_back, name="return"),
    path("<slug:slug>/withdraw/", views.withdraw, name="withdraw"),
]
