"""Grades of a study's answers; below /lab/studies/<slug>/grading/."""

from django.urls import path

from scoring.lab.grading import people, views

urlpatterns = [
    path("", views.grading, name="grading"),
    path("plan/", views.plan, name="grading_plan"),
    path("start/", views.start, name="grading_start"),
    path("<int:pk>/", views.run, name="grading_run"),
    path("<int:pk>/live/", views.run_live, name="grading_run_live"),
    path("<int:pk>/grades.csv", views.run_csv, name="grading_csv"),
    path("<int:pk>/stop/", views.stop, name="grading_stop"),
    path("<int:pk>/resume/", views.resume, name="grading_resume"),
    path("people/", people.grade, name="grade"),
    path("people/last/", people.last, name="grade_last"),
    path("people/undo/", people.undo, name="grade_undo"),
    path("people/adjudicate/", people.adjudicate, name="adjudicate"),
    path("people/grades.csv", people.grades_csv, name="grades_csv"),
]
