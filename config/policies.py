"""Policies that browsers are told with every answer, and their reports on pages that would break them."""

import json
import logging
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from csp.middleware import CSPMiddleware, PolicyParts
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

ADMIN = "/admin/"
MOST_BYTES = 16_000  # of a report: browsers cut their samples
MOST_A_MINUTE = 20  # lines of one process: whoever sends reports could fill the log else

logger = logging.getLogger(__name__)


class SetPolicies(CSPMiddleware):
    """Middleware: the content security policy, with the administration's own, and the headers beside it."""

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if request.path_info.startswith(ADMIN):
            parts.replace = settings.ADMIN_SECURITY_POLICY | (parts.replace or {})
        return parts

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        response.headers.setdefault("Permissions-Policy", settings.PERMISSIONS_POLICY)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return super().process_response(request, response)


class Reports:
    """How many came in this process, and which minute's lines were written."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.n = self.written = 0
        self.minute = 0.0

    def count(self, about: str) -> None:
        self.n += 1
        minute = self.clock() // 60
        if minute != self.minute:
            self.minute, self.written = minute, 0
        if self.written < MOST_A_MINUTE:
            self.written += 1
            logger.warning(
                "A browser reported that a page violated its Content-Security-Policy: %s", about
            )


reports = Reports()


@csrf_exempt
@require_POST
def take_report(request: HttpRequest) -> HttpResponse:
    """A browser says that a page did what its policy forbids: a fault of ours, or an attack that was stopped."""
    if len(request.body) > MOST_BYTES:
        return HttpResponse(status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    try:
        sent = json.loads(request.body)
    except (ValueError, RecursionError):  # brackets within brackets, as deep as anybody likes
        sent = None
    found = sent.get("csp-report") if isinstance(sent, dict) else None
    if not isinstance(found, dict):
        return HttpResponse(status=400)
    reports.count(described(found))
    return HttpResponse(status=204)


def described(report: dict[str, Any]) -> str:
    """A sentence on what was stopped where. Addresses can hold people's ids: of a page its pattern is said, of what it loads the site."""
    said = {name: value for name, value in report.items() if isinstance(value, str)}
    directive = said.get("effective-directive") or said.get("violated-directive") or ""
    word = directive.split(" ")[0][:40]
    name = word if word.replace("-", "").isalpha() else "unknown"
    try:
        page = f"/{resolve(urlsplit(said.get('document-uri', '')).path).route}"
    except (Resolver404, ValueError):
        page = "an unknown page"
    site = said.get("blocked-uri", "")
    if site not in ("inline", "eval", "self", "trusted-types-sink", "trusted-types-policy", "data"):
        try:
            host = urlsplit(site).hostname or ""
        except ValueError:
            host = ""
        site = host[:100] if host.replace(".", "").replace("-", "").isalnum() else "something else"
    return f"{name}, on {page}, by {site}"
