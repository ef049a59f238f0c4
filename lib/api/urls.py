"""The API's own addresses, in the namespace `api` (config/urls.py); the last one takes whatever is left."""

from django.urls import path

from lib.api import schema

urlpatterns = [
    path("schema/", schema.Description.as_view(), name="schema"),
    path("", schema.Nothing.as_view()),
    path("<path:rest>", schema.Nothing.as_view(), name="nothing"),
]
