"""Fields of research and their people."""

from django.urls import path

from experiment.lab.fields import people, settings, views

_FIELD = "fields/<slug:field>/"

urlpatterns = [
    path("fields/", views.fields, name="fields"),
    path("fields/new/", settings.new, name="new_field"),
    path(f"{_FIELD}settings/", settings.settings, name="field_settings"),
    path(f"{_FIELD}subfields/add/", settings.add_subfield, name="add_subfield"),
    path(f"{_FIELD}subfields/<int:pk>/", settings.subfield, name="subfield"),
    path(f"{_FIELD}subfields/<int:pk>/remove/", settings.remove_subfield, name="remove_subfield"),
    path(f"{_FIELD}people/", people.people, name="field_people"),
    path(f"{_FIELD}people/add/", people.add, name="add_field_member"),
    path(f"{_FIELD}people/<int:pk>/role/", people.change_role, name="change_field_role"),
    path(f"{_FIELD}people/<int:pk>/remove/", people.remove, name="remove_field_member"),
]
