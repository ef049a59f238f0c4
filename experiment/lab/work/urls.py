"""What runs, waits or ended in the background: of a study, and of the site."""

from django.urls import path

from experiment.lab.work import views

_STUDY = "studies/<slug:slug>/work/"
_JOB = "<str:kind>/<int:pk>/"

urlpatterns = [
    path("work/", views.site, name="site_work"),
    path("work/live/", views.site_live, name="site_work_live"),
    path(f"work/{_JOB}stop/", views.site_stop, name="site_work_stop"),
    path(f"work/{_JOB}retry/", views.site_retry, name="site_work_retry"),
    path(_STUDY, views.study, name="work"),
    path(f"{_STUDY}live/", views.study_live, name="work_live"),
    path(f"{_STUDY}{_JOB}stop/", views.study_stop, name="work_stop"),
    path(f"{_STUDY}{_JOB}retry/", views.study_retry, name="work_retry"),
]
