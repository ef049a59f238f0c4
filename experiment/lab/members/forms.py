"""Signing in, in one step or two. Repeated failures on a name have to wait."""

import hashlib
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_otp.models import Device

from experiment.services.people.second_step import check_code, confirm_app

MOST_FAILURES = 10
WAIT_S = 15 * 60


class Failures:
    """Counted by name and address, in the site's cache (by default one for each server process)."""

    def __init__(self, request: HttpRequest | None, name: str, step: str) -> None:
        address = request.META.get("REMOTE_ADDR", "") if request else ""
        of = repr((step, name.casefold(), address))
        self.key = f"failed-sign-ins-{hashlib.sha256(of.encode()).hexdigest()}"

    def refuse_too_many(self) -> None:
        if cache.get(self.key, 0) >= MOST_FAILURES:
            raise forms.ValidationError(
                _(
                    "Too many failed attempts for this name: wait %(minutes)d minutes, "
                    "or ask an administrator for a one-time link."
                ),
                code="too_many",
                params={"minutes": WAIT_S // 60},
            )

    def add(self) -> None:
        cache.set(self.key, cache.get(self.key, 0) + 1, WAIT_S)

    def forget(self) -> None:
        cache.delete(self.key)


class SignInForm(AuthenticationForm):
    def clean(self) -> dict[str, Any]:
        name = str(self.cleaned_data.get("username") or "")
        failures = Failures(self.request, name, "password")
        failures.refuse_too_many()
        try:
            cleaned = super().clean()
        except forms.ValidationError:
            failures.add()
            raise
        if self.get_user() is not None:
            failures.forget()
        return cleaned


class CodeForm(forms.Form):
    """The second step. `device` is whose code was given."""

    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=16,
        help_text=gettext_lazy("The six digits that your app shows now, or a recovery code."),
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )

    def __init__(self, request: HttpRequest, user: User, data: Any = None) -> None:
        super().__init__(data)
        self.user, self.device = user, None
        self.failures = Failures(request, user.get_username(), "code")

    def check(self, code: str) -> Device | None:
        return check_code(self.user, code)

    def clean_code(self) -> str:
        self.failures.refuse_too_many()
        code = "".join(str(self.cleaned_data["code"]).split())
        self.device = self.check(code)
        if self.device is None:
            self.failures.add()
            raise forms.ValidationError(
                _("This code is wrong, or was used before: wait for the next one and try again."),
                code="wrong",
            )
        self.failures.forget()
        return code


class NewAppForm(CodeForm):
    """The first code of an app, which shows that it works."""

    recovery_codes: list[str]

    def __init__(self, request: HttpRequest, user: User, data: Any = None) -> None:
        super().__init__(request, user, data)
        self.fields["code"].help_text = _("The six digits that your app shows now.")

    def check(self, code: str) -> Device | None:
        if (confirmed := confirm_app(self.user, code)) is None:
            return None
        device, self.recovery_codes = confirmed
        return device
