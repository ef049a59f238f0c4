from django.urls import path

from experiment.lab.setup import items, views, wording
from experiment.lab.setup.new import new

_SETUP = "studies/<slug:slug>/set-up/"

urlpatterns = [
    path("new-study/", new, name="new_study"),
    path(_SETUP, views.overview, name="setup"),
    path(f"{_SETUP}general/", views.general, name="setup_general"),
    path(f"{_SETUP}texts/", views.texts, name="setup_texts"),
    path(f"{_SETUP}wording/", wording.wording, name="setup_wording"),
    path(f"{_SETUP}wording/file/", wording.file, name="setup_wording_file"),
    path(f"{_SETUP}wording/load/", wording.load, name="setup_wording_load"),
    path(f"{_SETUP}wording/<slug:number>/", wording.text, name="setup_text"),
    path(f"{_SETUP}items/", items.items, name="setup_items"),
    path(f"{_SETUP}items/questions/", items.questions, name="setup_questions"),
    path(f"{_SETUP}items/count/", items.count, name="setup_items_count"),
    path(f"{_SETUP}trials/", views.trials, name="setup_trials"),
    path(f"{_SETUP}rules/", views.rules, name="setup_rules"),
    path(f"{_SETUP}target/", views.target, name="setup_target"),
    path(f"{_SETUP}file/", views.file, name="setup_file"),
]
