from django.urls import path

from experiment.lab.privacy import views

urlpatterns = [
    path("privacy/", views.privacy, name="privacy"),
    path("privacy/withdraw/", views.withdraw, name="privacy_withdraw"),
    path("privacy/policy/", views.policy, name="privacy_policy"),
    path("privacy/purge/", views.purge, name="privacy_purge"),
    path("privacy/purge/live/", views.purge_live, name="privacy_purge_live"),
]
