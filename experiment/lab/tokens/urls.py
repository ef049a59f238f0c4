from django.urls import path

from experiment.lab.tokens import views

urlpatterns = [
    path("account/tokens/", views.account_tokens, name="account_tokens"),
    path("studies/<slug:slug>/tokens/", views.tokens, name="tokens"),
]
