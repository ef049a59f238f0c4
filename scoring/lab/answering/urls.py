"""What models answer; below /lab/studies/<study>/answering/."""

from django.urls import path

from scoring.lab.answering import views

urlpatterns = [
    path("", views.answering, name="answering"),
    path("live/", views.answering_live, name="answering_live"),
    path("start/", views.start, name="answering_start"),
    path("<int:pk>/", views.run, name="answering_run"),
    path("<int:pk>/live/", views.run_live, name="answering_run_live"),
    path("<int:pk>/answers.csv", views.run_csv, name="answering_csv"),
    path("<int:pk>/stop/", views.stop, name="answering_stop"),
    path("<int:pk>/resume/", views.resume, name="answering_resume"),
]
