from django.urls import path

from lib.monitoring import views

urlpatterns = [
    path("healthz", views.healthz),
    path("healthz/live", views.live),
    path("healthz/ready", views.ready),
    path("healthz/deep", views.deep),
    path("metrics", views.metrics),
]
