"""Signing in: name and password, then a code where the user has set that up or the site asks for it."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, PasswordResetConfirmView, redirect_to_login
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache

from experiment.lab.members.forms import CodeForm, SignInForm
from experiment.services import audit
from experiment.services.people.second_step import has_second_step, is_verified
from lib.http import either

WAITING = "waits_for_code"  # in the session: who gave their password, and when (seconds)
WAITS_S = 10 * 60


class SignIn(LoginView):
    template_name = "lab/members/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user = form.get_user()
        if not has_second_step(user):
            return super().form_valid(form)
        self.request.session.cycle_key()
        self.request.session[WAITING] = [user.pk, timezone.now().timestamp()]
        return redirect_to_login(self.get_success_url(), reverse("lab:second_step"))


class Welcome(PasswordResetConfirmView):
    """Django's own page behind a reset link: its token dies with the first password that is set."""

    template_name = "lab/members/welcome.html"
    success_url = reverse_lazy("lab:studies")

    @property
    def post_reset_login(self) -> bool:  # type: ignore[override]
        """A link is no second step."""
        return self.user is None or not has_second_step(self.user)

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        audit.record(audit.Action.PASSWORD_CHANGED, by=form.user, by_link=True)
        return super().form_valid(form)


@either
@never_cache
def second_step(request: HttpRequest) -> HttpResponse:
    user = _half_way(request)
    if user is None:
        return redirect("lab:sign_in")
    if not has_second_step(user):
        return redirect("lab:set_up_codes")
    form = CodeForm(request, user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        request.session.pop(WAITING, None)
        user.otp_device = form.device  # type: ignore[attr-defined]
        login(request, user, settings.AUTHENTICATION_BACKENDS[0])
        request.session.cycle_key()  # also where the password had signed in already
        return redirect(_next(request))
    if form.has_error("code", "wrong") or form.has_error("code", "soon"):
        audit.record(audit.Action.SIGN_IN_FAILED, name=user.get_username(), step="code")
    return render(request, "lab/members/second_step.html", {"form": form, "next": _next(request)})


def _half_way(request: HttpRequest) -> User | None:
    """Who has given a password but no code."""
    user: Any = request.user
    if user.is_authenticated:
        return None if is_verified(user) else user
    pk, since = request.session.get(WAITING, (None, 0))
    if pk is None or timezone.now().timestamp() - since > WAITS_S:
        return None
    return get_user_model().objects.filter(pk=pk, is_active=True).first()


def _next(request: HttpRequest) -> str:
    """Where the user wanted to go, on this site."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_here = url_has_allowed_host_and_scheme(
        wanted, {request.get_host()}, require_https=request.is_secure()
    )
    return wanted if is_here else reverse("lab:studies")
