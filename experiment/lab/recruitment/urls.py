"""Recruitment; below /lab/studies/<slug>/recruitment/."""

from django.urls import path

from experiment.lab.recruitment import views

urlpatterns = [
    path("", views.recruiting, name="recruiting"),
    path("state/", views.recruitment, name="recruitment"),
    path("channels/new/", views.new_channel, name="channel_new"),
    path("channels/<str:code>/", views.channel, name="channel"),
    path("channels/<str:source>/<str:end>/", views.link_preview, name="link_preview"),
]
