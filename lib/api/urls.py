"""The API's own addresses, in the namespace `api` (config/urls.py); the last one takes whatever is left."""

from django.urls import path

from lib.api import described

urlpatterns = [
    path("schema/", described.Description.as_view(), name="schema"),
    path("", described.Nothing.as_view()),
    path("<path:rest>", described.Nothing.as_view(), name="nothing"),
]
