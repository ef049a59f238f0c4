"""In the namespace `lab`, below the address of a field of research."""

from django.urls import path

from experiment.lab.editor import views

urlpatterns = [
    path("new/", views.new_item, name="new_item"),
    path("preview/", views.preview, name="item_preview"),
    path("<int:pk>/write/", views.write_item, name="write_item"),
]
