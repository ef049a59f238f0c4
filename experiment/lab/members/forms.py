"""Signing in, in one step or two. Repeated failures on a name have to wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_otp.models import Device

from experiment.services.people import attempts
from experiment.services.people.second_step import TooSoonError, check_code, confirm_app
from lib.http import address_of


@contextmanager
def limited(request: HttpRequest | None, name: str, step: str) -> Iterator[None]:
    """Around the comparison of a password or code, which raises where it is wrong; a form's error where it has to wait."""
    address = address_of(request) if request else ""
    try:
        with attempts.attempt(step, name, address):
            yield
    except attempts.TooManyError:
        raise forms.ValidationError(
            _(
                "Too many failed attempts for this name: wait %(minutes)d minutes, "
                "or ask an administrator for a one-time link."
            ),
            code="too_many",
            params={"minutes": attempts.WAIT.seconds // 60},
        ) from None
    except attempts.BusyError:
        raise forms.ValidationError(
            _("Others are signing in at this moment: please try again."), code="busy"
        ) from None
    attempts.succeeded(step, name, address)


class SignInForm(AuthenticationForm):
    def clean(self) -> dict[str, Any]:
        name = str(self.cleaned_data.get("username") or "")
        if not name or not self.cleaned_data.get("password"):
            return self.cleaned_data  # the fields say so, and nothing is compared
        with limited(self.request, name, "password"):
            return super().clean()


class PasswordForm(PasswordChangeForm):
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
        label=gettext_lazy("Code"),
        max_length=16,
        help_text=gettext_lazy("The six digits that your app shows now, or a recovery code."),
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )

    def __init__(self, request: HttpRequest, user: User, data: Any = None) -> None:
        super().__init__(data)
        self.request, self.user, self.device = request, user, None

    def check(self, code: str) -> Device | None:
        return check_code(self.user, code)

    def clean_code(self) -> str:
        code = "".join(str(self.cleaned_data["code"]).split())
        with limited(self.request, self.user.get_username(), "code"):
            try:
                self.device = self.check(code)
            except TooSoonError:
                raise forms.ValidationError(
                    _("This came too soon after a wrong code: wait a moment and try again."),
                    code="soon",
                ) from None
            if self.device is None:
                raise forms.ValidationError(
                    _(
                        "This code is wrong, or was used before: wait for the next one and try again."
                    ),
                    code="wrong",
                )
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
