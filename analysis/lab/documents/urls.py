"""Documents written from a study; below /lab/studies/<slug>/documents/."""

from django.urls import path

from analysis.lab.documents import views

urlpatterns = [
    path("", views.documents, name="documents"),
    path("<slug:name>.<slug:form>", views.document, name="document"),
]
