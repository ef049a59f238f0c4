"""Signing in to the lab and the administration. Repeated failures on a name have to wait."""

import hashlib
from typing import Any

from django import forms
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import AuthenticationForm
from django.core.cache import cache
from django.utils.translation import gettext as _

MOST_FAILURES = 10
WAIT_S = 15 * 60


class ThrottledForm(AuthenticationForm):
    """Counts failures by name and address, in the site's cache (by default one for each server process)."""

    def clean(self) -> dict[str, Any]:
        key = self._key()
        n_failures = cache.get(key, 0)
        if n_failures >= MOST_FAILURES:
            raise forms.ValidationError(
                _(
                    "Too many failed attempts for this name: wait %(minutes)d minutes, "
                    "or ask an administrator for a one-time link."
                ),
                code="too_many",
                params={"minutes": WAIT_S // 60},
            )
        try:
            cleaned = super().clean()
        except forms.ValidationError:
            cache.set(key, n_failures + 1, WAIT_S)
            raise
        if self.get_user() is not None:
            cache.delete(key)
        return cleaned

    def _key(self) -> str:
        name = str(self.cleaned_data.get("username") or "").casefold()
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        return f"failed-sign-ins-{hashlib.sha256(repr((name, address)).encode()).hexdigest()}"


class SignInForm(ThrottledForm):
    pass


class AdminSignInForm(ThrottledForm, AdminAuthenticationForm):
    pass
