"""The help of language models; below /lab/fields/<field>/drafting/."""

from django.urls import path

from scoring.lab.drafting import views

urlpatterns = [
    path("", views.drafting, name="drafting"),
    path("start/", views.start, name="drafting_start"),
    path("review/", views.review, name="model_review"),
    path("review/<int:pk>/stop/", views.review_stop, name="model_review_stop"),
    path("<int:pk>/", views.run, name="drafting_run"),
    path("<int:pk>/live/", views.run_live, name="drafting_run_live"),
    path("<int:pk>/stop/", views.stop, name="drafting_stop"),
    path("<int:pk>/resume/", views.resume, name="drafting_resume"),
    path("<int:pk>/<int:row>/", views.draft, name="generated_draft"),
    path("<int:pk>/<int:row>/take/", views.take, name="generated_draft_take"),
    path("<int:pk>/<int:row>/dismiss/", views.dismiss, name="generated_draft_dismiss"),
]
