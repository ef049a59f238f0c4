from django.urls import path

from experiment.lab.curation import views

urlpatterns = [
    path("", views.test_cases, name="test_cases"),
    path("<int:pk>/", views.test_case, name="test_case"),
    path("<int:pk>/edit/", views.edit, name="edit_test_case"),
    path("<int:pk>/revise/", views.revise, name="revise_test_case"),
    path("<int:pk>/move/", views.move, name="move_test_case"),
]
