"""Signing in, in one step or two, and one's own account."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import segno
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import get_user_model, login, update_session_auth_hash
from django.contrib.auth.forms import (
    AuthenticationForm,
    PasswordChangeForm,
    SetPasswordForm,
)
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, PasswordResetConfirmView, redirect_to_login
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe
from django_otp import login as mark_verified
from django_otp.models import Device

from experiment.lab.access import for_first_step, for_signed_in, user_of
from experiment.models import AccessToken, Membership
from experiment.services import audit, sign_in
from experiment.services.rights import revoke_tokens
from experiment.services.sign_in import has_second_step, is_verified
from lib.formatting import count, verb
from lib.http import address_of, either


@contextmanager
def limited(request: HttpRequest | None, name: str, step: str) -> Iterator[None]:
    """Around the comparison of a password or code, which raises where it is wrong; a form's error where it has to wait."""
    address = address_of(request) if request else ""
    try:
        with sign_in.attempt(step, name, address):
            yield
    except sign_in.TooManyError:
        minutes = sign_in.WAIT.seconds // 60
        raise forms.ValidationError(
            f"Too many failed attempts for this name. Wait {minutes} minutes, or ask an administrator for a one-time link.",
            code="too_many",
        ) from None
    except sign_in.BusyError:
        raise forms.ValidationError(
            "Others are signing in at the moment. Please try again.", code="busy"
        ) from None
    sign_in.succeeded(step, name, address)


class SignInForm(AuthenticationForm):
    def clean(self) -> dict[str, Any]:
        name = str(self.cleaned_data.get("username") or "")
        if not name or not self.cleaned_data.get("password"):
            return self.cleaned_data  # the fields say so, and nothing is compared
        with limited(self.request, name, "password"):
            return super().clean()


def _tokens_work(n: int) -> str:
    """
    >>> _tokens_work(2)
    '2 access tokens work. Programs that have them keep their access after the password is changed.'
    """
    programs = verb(n, "A program that has it keeps its", "Programs that have them keep their")
    works = verb(n, "works", "work")
    return f"{count(n, 'access token')} {works}. {programs} access after the password is changed."


class OffersToEndTokens(forms.BaseForm):
    """A form for a new password. Programs with tokens go on after it, so it says so and offers to end them."""

    user: User
    ENDS = False  # whether the box is ticked at first

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if n := AccessToken.objects.filter(user=self.user).usable().count():
            self.fields["end_tokens"] = forms.BooleanField(
                label="Also revoke all access tokens of this account",
                required=False,
                initial=self.ENDS,
                help_text=_tokens_work(n),
            )

    def end_tokens(self, by: User) -> int:
        """How many ended, as the box says."""
        return revoke_tokens(self.user, by) if self.cleaned_data.get("end_tokens") else 0


class PasswordByLinkForm(OffersToEndTokens, SetPasswordForm):  # type: ignore[type-arg]
    """A password by link, for a person who has lost theirs, or whose password somebody else has learnt."""

    ENDS = True


class PasswordForm(OffersToEndTokens, PasswordChangeForm):
    """A new password. Whoever sits at somebody's browser does not try out the old one for long."""

    def __init__(self, request: HttpRequest, user: User, data: Any = None) -> None:
        super().__init__(user, data)
        self.request = request
        self.fields["old_password"].widget.attrs.pop("autofocus")  # it is not all of the page

    def clean_old_password(self) -> str:
        with limited(self.request, self.user.get_username(), "change"):
            return super().clean_old_password()


class CodeForm(forms.Form):
    """The second step. `device` is whose code was given."""

    code = forms.CharField(
        label="Code",
        max_length=16,
        help_text="The six digits that your app shows now, or a recovery code.",
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )

    def __init__(self, request: HttpRequest, user: User, data: Any = None) -> None:
        super().__init__(data)
        self.request, self.user, self.device = request, user, None

    def check(self, code: str) -> Device | None:
        return sign_in.check_code(self.user, code)

    def clean_code(self) -> str:
        code = "".join(str(self.cleaned_data["code"]).split())
        with limited(self.request, self.user.get_username(), "code"):
            try:
                self.device = self.check(code)
            except sign_in.TooSoonError:
                raise forms.ValidationError(
                    "You tried again too soon after a wrong code. Wait a moment and try again.",
                    code="soon",
                ) from None
            if self.device is None:
                raise forms.ValidationError(
                    ("This code is wrong or was used before. Wait for the next one and try again."),
                    code="wrong",
                )
        return code


class NewAppForm(CodeForm):
    """The first code of an app, which shows that it works."""

    recovery_codes: list[str]

    def __init__(self, request: HttpRequest, user: User, data: Any = None) -> None:
        super().__init__(request, user, data)
        self.fields["code"].help_text = "The six digits that your app shows now."

    def check(self, code: str) -> Device | None:
        if (confirmed := sign_in.confirm_app(self.user, code)) is None:
            return None
        device, self.recovery_codes = confirmed
        return device


WAITING = "gave_password"  # in the session: who, when (seconds), and what a change of the password changes
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
        now = timezone.now().timestamp()
        self.request.session[WAITING] = [user.pk, now, user.get_session_auth_hash()]
        return redirect_to_login(self.get_success_url(), reverse("lab:second_step"))


class Welcome(PasswordResetConfirmView):
    """Django's own page behind a reset link: its token dies with the first password that is set."""

    template_name = "lab/members/welcome.html"
    form_class = PasswordByLinkForm
    success_url = reverse_lazy("lab:studies")

    @property
    def post_reset_login(self) -> bool:  # type: ignore[override]
        """A link is no second step."""
        return self.user is None or not has_second_step(self.user)

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        n = form.end_tokens(form.user)
        audit.record(audit.Action.PASSWORD_CHANGED, by=form.user, by_link=True, tokens_revoked=n)
        return super().form_valid(form)


@either
@never_cache
def code_page(request: HttpRequest) -> HttpResponse:
    user = _half_way(request)
    if user is None:
        return redirect("lab:sign_in")
    if not has_second_step(user):
        return redirect("lab:set_up_codes")
    form = CodeForm(request, user, request.POST or None)
    if form.is_valid():
        request.session.pop(WAITING, None)
        user.otp_device = form.device  # type: ignore[attr-defined]
        login(request, user, settings.AUTHENTICATION_BACKENDS[0])
        request.session.cycle_key()  # also where the password had signed in already
        return redirect(_next(request))
    if form.has_error("code", "wrong") or form.has_error("code", "soon"):
        audit.record(audit.Action.SIGN_IN_FAILED, name=user.get_username(), step="code")
    return render(request, "lab/members/second_step.html", {"form": form, "next": _next(request)})


def _half_way(request: HttpRequest) -> User | None:
    """The user who has given a password but no code."""
    user: Any = request.user
    if user.is_authenticated:
        return None if is_verified(user) else user
    pk, since, password = request.session.get(WAITING, (None, 0, ""))
    if pk is None or timezone.now().timestamp() - since > WAITS_S:
        return None
    found = get_user_model().objects.filter(pk=pk, is_active=True).first()
    return found if found and found.get_session_auth_hash() == password else None


def _next(request: HttpRequest) -> str:
    """Where the user wanted to go, on this site."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_here = url_has_allowed_host_and_scheme(
        wanted, {request.get_host()}, require_https=request.is_secure()
    )
    return wanted if is_here else reverse("lab:studies")


@either
@sensitive_post_parameters()
@for_signed_in
def account(request: HttpRequest) -> HttpResponse:
    """The page, and a new password from it."""
    user = user_of(request)
    form = _password_form(request)
    if form.is_valid():
        with transaction.atomic():
            form.save()
            n = form.end_tokens(user)
            audit.record(audit.Action.PASSWORD_CHANGED, by=user, tokens_revoked=n)
        update_session_auth_hash(request, user)  # other browsers are signed out
        messages.success(request, "Your password has been changed.")
        return redirect("lab:account")
    return _account(request, form=form)


@either
@for_first_step
def set_up_codes(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    if has_second_step(user):
        return redirect("lab:account")
    form = NewAppForm(request, user, request.POST or None)
    if form.is_valid():
        mark_verified(request, form.device)
        request.session.cycle_key()
        sign_in.end_elsewhere(user, request.session)
        return _recovery_codes(request, form.recovery_codes)
    key = sign_in.spelled_key(sign_in.new_app(user))
    return render(request, "lab/members/set_up_codes.html", {"form": form, "key": key})


@require_safe
@for_first_step
def picture(request: HttpRequest) -> HttpResponse:
    """The picture that an app reads with the camera. Once it is confirmed, the key is shown no more."""
    user = user_of(request)
    if has_second_step(user):
        return HttpResponse(status=410)
    image = io.BytesIO()
    address = sign_in.new_app(user).config_url
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
        sign_in.switch_off(user)
        request.session.cycle_key()
        sign_in.end_elsewhere(user, request.session)
        messages.success(request, "You now sign in with your password only.")
        return redirect("lab:account")
    return _recovery_codes(request, sign_in.new_recovery_codes(user))


@require_POST
@for_signed_in
def sign_out_elsewhere(request: HttpRequest) -> HttpResponse:
    n = sign_in.end_elsewhere(user_of(request), request.session)
    audit.record(audit.Action.SIGNED_OUT_ELSEWHERE, by=user_of(request), sign_ins=n)
    messages.success(request, "You are now signed in only in this browser.")
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
    n_elsewhere, n_codes = (
        len(sign_in.elsewhere(user, request.session)),
        sign_in.n_recovery_codes(user),
    )
    elsewhere = "In one other browser." if n_elsewhere == 1 else f"In {n_elsewhere} other browsers."
    # The first page of a study for this member: a curator sees its test cases alone
    studies = []
    for membership in user.memberships.select_related("study"):
        is_curator = membership.role == Membership.Role.CURATOR
        page = "lab:test_cases" if is_curator else "lab:study"
        studies.append((membership, reverse(page, args=[membership.study.slug])))
    context = {
        "section": "account",
        "form": _password_form(request),
        "code_form": CodeForm(request, user),
        "has_second_step": has_second_step(user),
        "codes_left": f"On. {count(n_codes, 'recovery code')} {verb(n_codes, 'is', 'are')} left.",
        "n_elsewhere": n_elsewhere,
        "elsewhere": elsewhere if n_elsewhere else "",
        "studies": studies,
    }
    return render(request, "lab/members/account.html", context | forms)
