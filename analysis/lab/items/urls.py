"""What is known of a field's test cases; below /lab/fields/<field>/."""

from django.urls import path

from analysis.lab.items import statistics, views

urlpatterns = [
    path("", views.field, name="field"),
    path("views/", views.save_view, name="save_view"),
    path("views/delete/", views.delete_view, name="delete_view"),
    path("items/<int:pk>/statistics/", statistics.item_statistics, name="item_statistics"),
    path(
        "items/<int:pk>/statistics.svg",
        statistics.item_statistics_picture,
        name="item_statistics_picture",
    ),
]
