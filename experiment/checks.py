"""System checks: a configuration that would fail later is named at the start."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, register
from django.core.checks import Warning as CheckWarning


@register("site")
def base_url_is_served(**_: Any) -> list[CheckMessage]:
    """Links that commands print must lead to this site."""
    host = urlsplit(settings.BASE_URL).hostname or ""
    if (
        settings.DEBUG
        or "*" in settings.ALLOWED_HOSTS
        or host in {name.strip("[]") for name in settings.ALLOWED_HOSTS}
    ):
        return []
    hint = "Set BASE_URL to an address whose host is in ALLOWED_HOSTS."
    return [
        CheckWarning(
            f"BASE_URL names {host!r}, which ALLOWED_HOSTS refuses.",
            hint=hint,
            id="experiment.W001",
        )
    ]


@register("site")
def https_is_consistent(**_: Any) -> list[CheckMessage]:
    """With HTTPS=1, printed links must not be plain http."""
    if not settings.HTTPS or settings.BASE_URL.startswith("https://"):
        return []
    hint = "Set BASE_URL to the https:// address of the site."
    return [
        CheckWarning(
            "HTTPS=1, but BASE_URL is not an https:// address.", hint=hint, id="experiment.W002"
        )
    ]
