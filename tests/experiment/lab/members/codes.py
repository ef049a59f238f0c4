"""An app that shows codes, for tests."""

from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice

from experiment.services import sign_in


def shown_by_app(device: TOTPDevice) -> str:
    """The code of now; one that was used is forgotten, as if half a minute had passed."""
    TOTPDevice.objects.filter(pk=device.pk).update(last_t=-1, throttling_failure_count=0)
    return f"{totp(device.bin_key):06d}"


def switch_on(user: object) -> tuple[TOTPDevice, list[str]]:
    device = sign_in.new_app(user)
    confirmed = sign_in.confirm_app(user, shown_by_app(device))
    assert confirmed is not None
    return confirmed
