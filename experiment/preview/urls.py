"""In the namespace `lab` (config/urls.py)."""

from django.urls import path

from experiment.preview.views import preview

urlpatterns = [
    path("studies/<slug:slug>/set-up/preview/<slug:page>/", preview, name="preview"),
]
