"""Cookies behind TLS: their names begin with `__Host-`, so that no other host, and nothing that was not encrypted, can set one.

TakeEarlierCookies and RenewEarlierForms are for who was under way when the names changed; the release after the one that
brought the names removes both.
"""

import re
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core import signing
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import rotate_token

# What somebody under way has: who they are, and the secret of the form that is open
PARTICIPANTS = re.compile(r"bb-(?:entry|participant)-\d+")
FORM = "csrftoken"
STUDY = re.compile(r"/s/[-\w]+/")


class TakeEarlierCookies:
    """Middleware: participants who came before the names changed are known; they are given the same under the new name."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.COOKIE_PREFIX:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        study = STUDY.match(request.path_info)
        # Who signs in does so anew: what is not theirs by the new name could be somebody else's
        earlier = _earlier(request) if study else {}
        taken = dict(earlier)
        # Any host beside this one can set a bare secret, and would know it: it serves the form that is open, and no other
        if earlier and request.method == "POST" and _is_only_earlier(request, FORM):
            taken[FORM] = request.COOKIES[FORM]
        request.COOKIES.update({settings.COOKIE_PREFIX + name: taken[name] for name in taken})
        request.has_earlier_form = FORM in taken  # type: ignore[attr-defined]
        response = self.get_response(request)
        for name, value in earlier.items():
            response.delete_cookie(name, path=study[0] if study else "/")
            if settings.COOKIE_PREFIX + name not in response.cookies:
                response.set_cookie(
                    settings.COOKIE_PREFIX + name,
                    value,
                    max_age=settings.PARTICIPANT_COOKIE_AGE if "participant" in name else None,
                    secure=True,
                    httponly=True,
                    samesite="Lax",
                )
        if FORM in taken:
            response.delete_cookie(FORM)
        return response


class RenewEarlierForms:
    """Middleware, after Django's check of forms: who sent one with the earlier secret is given one that nobody else set."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: Any) -> None:
        if getattr(request, "has_earlier_form", False):
            rotate_token(request)


def _earlier(request: HttpRequest) -> dict[str, str]:
    """The site's own word of the earlier name, where there is none of the new one."""
    return {
        name: value
        for name, value in request.COOKIES.items()
        if PARTICIPANTS.fullmatch(name)
        and _is_only_earlier(request, name)
        and _is_ours(name, value)
    }


def _is_only_earlier(request: HttpRequest, name: str) -> bool:
    return name in request.COOKIES and settings.COOKIE_PREFIX + name not in request.COOKIES


def _is_ours(name: str, value: str) -> bool:
    try:
        signing.loads(value, salt=name)  # as experiment/participant/identity.py signs it
    except signing.BadSignature:
        return False
    return True
