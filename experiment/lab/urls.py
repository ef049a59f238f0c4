"""The lab's pages about people, in the namespace `lab` (config/urls.py)."""

from django.contrib.auth.views import LoginView, LogoutView, PasswordResetConfirmView
from django.urls import path, reverse_lazy

from experiment.lab import exports, views
from experiment.lab.forms import SignInForm

urlpatterns = [
    path("", views.studies, name="studies"),
    path(
        "sign-in/",
        LoginView.as_view(
            template_name="lab/sign_in.html",
            authentication_form=SignInForm,
            redirect_authenticated_user=True,
        ),
        name="sign_in",
    ),
    path("sign-out/", LogoutView.as_view(), name="sign_out"),
    path(
        # Django's own page behind a reset link: its token dies with the first password that is set.
        "welcome/<uidb64>/<token>/",
        PasswordResetConfirmView.as_view(
            template_name="lab/welcome.html",
            post_reset_login=True,
            success_url=reverse_lazy("lab:studies"),
        ),
        name="welcome",
    ),
    path("studies/<slug:slug>/", views.study, name="study"),
    path("studies/<slug:slug>/live/", views.study_live, name="study_live"),
    path("studies/<slug:slug>/export/<str:set_name>.csv", exports.export, name="export"),
    path("studies/<slug:slug>/exports/<int:pk>/", exports.waiting, name="export_job"),
    path("studies/<slug:slug>/exports/<int:pk>/live/", exports.live, name="export_live"),
    path("studies/<slug:slug>/exports/<int:pk>/file/", exports.file, name="export_file"),
    path("studies/<slug:slug>/exports/<int:pk>/retry/", exports.retry, name="export_retry"),
    path(
        "studies/<slug:slug>/links/<str:source>/<str:end>/",
        views.link_preview,
        name="link_preview",
    ),
    path("studies/<slug:slug>/recruitment/", views.recruitment, name="recruitment"),
]
