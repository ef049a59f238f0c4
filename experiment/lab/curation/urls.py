"""A study's test cases one by one; below /lab/studies/<slug>/test-cases/. Their list is analysis/lab/items/study.py."""

from django.urls import path

from experiment.lab.curation import views

urlpatterns = [
    path("<int:pk>/", views.test_case, name="test_case"),
    path("<int:pk>/pause/", views.pause_test_case, name="pause_test_case"),
]
