"""Signing in with a second step: a code of an app (TOTP, RFC 6238), or one of ten recovery codes that work once each."""

from base64 import b32encode

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django_otp import verify_token
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from experiment.services import audit
from experiment.services.audit import Action

N_RECOVERY_CODES = 10


class TooSoonError(Exception):
    """A code right after a wrong one is not compared: each has to wait twice as long as the last, from a second on."""


def has_second_step(user: User | AnonymousUser) -> bool:
    return bool(TOTPDevice.objects.filter(user_id=user.pk, confirmed=True).exists())


def is_verified(user: User | AnonymousUser) -> bool:
    """Whether who asks has given a code since they signed in; a user of a request knows."""
    return bool(user.is_verified())  # type: ignore[union-attr]


def new_app(user: User) -> TOTPDevice:
    """What the user's app is to be told; the same until a code of it confirms it."""
    return TOTPDevice.objects.get_or_create(user=user, confirmed=False, defaults={"name": "app"})[0]


def spelled_key(device: TOTPDevice) -> str:
    """The key, to be typed where no picture can be read."""
    text = b32encode(device.bin_key).decode().rstrip("=")
    return " ".join(text[n : n + 4] for n in range(0, len(text), 4))


def check_code(user: User, code: str) -> TOTPDevice | StaticDevice | None:
    """The device whose code this is; None where it is wrong or was used.

    Raises:
        TooSoonError: it was not compared.
    """
    kind = TOTPDevice if code.isdecimal() else StaticDevice
    device = kind.objects.filter(user=user, confirmed=True).first()
    return None if device is None else _verified(device, code.lower())


@transaction.atomic
def confirm_app(user: User, code: str) -> tuple[TOTPDevice, list[str]] | None:
    """From now on the app's codes are asked for. Gives it and the recovery codes; None for a wrong code.

    Raises:
        TooSoonError: it was not compared.
    """
    device = new_app(user)
    if not _verified(device, code):
        return None
    device.refresh_from_db()
    device.confirmed = True
    device.save(update_fields=["confirmed"])
    audit.record(Action.SECOND_STEP, by=user, change="on")
    return device, _new_codes(user)


@transaction.atomic
def new_recovery_codes(user: User) -> list[str]:
    """In place of all that were."""
    audit.record(Action.SECOND_STEP, by=user, change="recovery codes")
    return _new_codes(user)


@transaction.atomic
def switch_off(user: User) -> None:
    for kind in (TOTPDevice, StaticDevice):
        kind.objects.filter(user=user).delete()
    audit.record(Action.SECOND_STEP, by=user, change="off")


def n_recovery_codes(user: User) -> int:
    return sum(device.token_set.count() for device in StaticDevice.objects.filter(user=user))


def _verified(device: TOTPDevice | StaticDevice, code: str) -> TOTPDevice | StaticDevice | None:
    if not device.verify_is_allowed()[0]:
        raise TooSoonError
    found: TOTPDevice | StaticDevice | None = verify_token(device.user, device.persistent_id, code)
    return found


def _new_codes(user: User) -> list[str]:
    device, _ = StaticDevice.objects.get_or_create(user=user, defaults={"name": "recovery codes"})
    device.token_set.all().delete()
    kind = device.token_set.model
    codes = [kind.random_token() for _ in range(N_RECOVERY_CODES)]
    kind.objects.bulk_create([kind(device=device, token=code) for code in codes])
    return codes
