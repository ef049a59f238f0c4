"""What is known of a field's test cases; below /lab/fields/<field>/."""

from django.urls import path

from analysis.lab.items import views

urlpatterns = [
    path("", views.field, name="field"),
    path("views/", views.save_view, name="save_view"),
    path("views/delete/", views.delete_view, name="delete_view"),
]
