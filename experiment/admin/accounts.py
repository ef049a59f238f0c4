"""Accounts: who may do what on the whole site is in the audit trail."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django_otp.plugins.otp_static.admin import StaticDeviceAdmin
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.admin import TOTPDeviceAdmin
from django_otp.plugins.otp_totp.models import TOTPDevice

from experiment.admin.read_only import DeclaredLookups
from experiment.lab.access import user_of
from experiment.services import audit

POWERS = ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")

for model in (User, Group, TOTPDevice, StaticDevice):
    admin.site.unregister(model)


@admin.register(Group)
class NarrowGroupAdmin(DeclaredLookups[Group], GroupAdmin):
    """Django's, without look-ups."""


@admin.register(TOTPDevice)
class NarrowTOTPDeviceAdmin(DeclaredLookups[Any], TOTPDeviceAdmin):  # type: ignore[misc]
    """The library's: its key is in no list, and in no look-up."""


@admin.register(StaticDevice)
class NarrowStaticDeviceAdmin(DeclaredLookups[Any], StaticDeviceAdmin):  # type: ignore[misc]
    """The library's, likewise."""


@admin.register(User)
class AccountAdmin(DeclaredLookups[User], UserAdmin[User]):
    def save_related(self, request: Any, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        changed = {
            name: f"{_told(form.initial.get(name))} -> {_told(form.cleaned_data[name])}"
            for name in POWERS
            if name in form.changed_data
        }
        if changed:
            _record(request, form.instance, changed)

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        _record(request, obj, {"account": "deleted"})
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        for user in queryset:
            _record(request, user, {"account": "deleted"})
        super().delete_queryset(request, queryset)


def _record(request: HttpRequest, user: User, changed: dict[str, str]) -> None:
    by, name = user_of(request), user.get_username()
    audit.record(audit.Action.ROLE_CHANGED, by=by, member=name, changed=changed)


def _told(value: Any) -> str:
    if not isinstance(value, Iterable):
        return str(value)
    return ", ".join(sorted(getattr(each, "codename", str(each)) for each in value)) or "none"
