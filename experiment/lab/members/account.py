"""One's own account: the password, and codes as a second step."""

import io
from typing import Any

import segno
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe
from django_otp import login as mark_verified

from experiment.lab.access import for_first_step, for_signed_in, user_of
from experiment.lab.members.forms import CodeForm, NewAppForm, PasswordForm
from experiment.services import audit
from experiment.services.people import second_step, sessions
from lib.http import either


@either
@sensitive_post_parameters()
@for_signed_in
def account(request: HttpRequest) -> HttpResponse:
    """The page, and a new password from it."""
    user = user_of(request)
    form = _password_form(request)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            form.save()
            audit.record(audit.Action.PASSWORD_CHANGED, by=user)
        update_session_auth_hash(request, user)  # other browsers are signed out
        messages.success(request, _("Your password is changed."))
        return redirect("lab:account")
    return _account(request, form=form)


@either
@for_first_step
def set_up_codes(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    if second_step.has_second_step(user):
        return redirect("lab:account")
    form = NewAppForm(request, user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        mark_verified(request, form.device)
        request.session.cycle_key()
        sessions.end_elsewhere(user, request.session)
        return _recovery_codes(request, form.recovery_codes)
    key = second_step.spelled_key(second_step.new_app(user))
    return render(request, "lab/members/set_up_codes.html", {"form": form, "key": key})


@require_safe
@for_first_step
def picture(request: HttpRequest) -> HttpResponse:
    """What an app reads with the camera. Once it is confirmed, the key is shown no more."""
    user = user_of(request)
    if second_step.has_second_step(user):
        return HttpResponse(status=410)
    image = io.BytesIO()
    address = second_step.new_app(user).config_url
    segno.make(address).save(
        image, kind="svg", scale=5, light="#fff", svgclass=None, lineclass=None
    )
    return HttpResponse(image.getvalue(), content_type="image/svg+xml")


@require_POST
@for_signed_in
def change_codes(request: HttpRequest) -> HttpResponse:
    """New recovery codes, or no second step any more: only with a code."""
    user = user_of(request)
    form = CodeForm(request, user, request.POST)
    if not form.is_valid():
        return _account(request, code_form=form)
    if "off" in request.POST:
        second_step.switch_off(user)
        request.session.cycle_key()
        sessions.end_elsewhere(user, request.session)
        messages.success(request, _("You sign in with your password alone now."))
        return redirect("lab:account")
    return _recovery_codes(request, second_step.new_recovery_codes(user))


@require_POST
@for_signed_in
def sign_out_elsewhere(request: HttpRequest) -> HttpResponse:
    n = sessions.end_elsewhere(user_of(request), request.session)
    audit.record(audit.Action.SIGNED_OUT_ELSEWHERE, by=user_of(request), sign_ins=n)
    messages.success(request, _("You are signed in here alone now."))
    return redirect("lab:account")


def _password_form(request: HttpRequest) -> PasswordForm:
    sent = request.POST if "old_password" in request.POST else None
    return PasswordForm(request, user_of(request), sent)


def _recovery_codes(request: HttpRequest, codes: list[str]) -> HttpResponse:
    return render(
        request, "lab/members/recovery_codes.html", {"codes": codes, "section": "account"}
    )


def _account(request: HttpRequest, **forms: Any) -> HttpResponse:
    user = user_of(request)
    context = {
        "section": "account",
        "form": _password_form(request),
        "code_form": CodeForm(request, user),
        "has_second_step": second_step.has_second_step(user),
        "n_recovery_codes": second_step.n_recovery_codes(user),
        "n_elsewhere": len(sessions.elsewhere(user, request.session)),
        "studies": user.memberships.select_related("study"),
    }
    return render(request, "lab/members/account.html", context | forms)
