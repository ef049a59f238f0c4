"""Fields of research and their people."""

from django.urls import path

from experiment.lab.fields import views

urlpatterns = [
    path("fields/", views.fields, name="fields"),
]
