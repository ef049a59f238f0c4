from django.urls import path

from experiment.lab.curation import views

urlpatterns = [
    path("", views.test_cases, name="test_cases"),
    path("<int:pk>/", views.test_case, name="test_case"),
]
