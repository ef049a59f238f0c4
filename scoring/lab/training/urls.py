"""Corpora, trainings and what they made; below /lab/training/."""

from django.urls import path

from scoring.lab.training import views

urlpatterns = [
    path("", views.trainings, name="trainings"),
    path("start/", views.start, name="training_start"),
    path("corpora/", views.corpora, name="corpora"),
    path("corpora/<slug:name>/", views.corpus, name="corpus"),
    path("models/<int:pk>/", views.model, name="language_model"),
    path("<int:pk>/", views.training, name="training"),
    path("<int:pk>/live/", views.training_live, name="training_live"),
    path("<int:pk>/stop/", views.stop, name="training_stop"),
    path("<int:pk>/resume/", views.resume, name="training_resume"),
    path("<int:pk>/score/", views.score, name="training_score"),
    path("<int:pk>/checkpoints/", views.score_checkpoints, name="training_checkpoints"),
]
