"""Is the site well? Asked by load balancers, supervisors and Prometheus; none of it is about a participant."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from secrets import compare_digest

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from lib.monitoring import checks
from lib.monitoring.metrics import exposition

View = Callable[[HttpRequest], HttpResponse]
TEXT = "text/plain; charset=utf-8"


def with_token(view: View) -> View:
    """Only for who sends METRICS_TOKEN; where none is set, there is no such page."""

    @wraps(view)
    def checked(request: HttpRequest) -> HttpResponse:
        if not settings.METRICS_TOKEN:
            raise Http404
        sent = request.headers.get("Authorization", "").encode()
        if not compare_digest(sent, f"Bearer {settings.METRICS_TOKEN}".encode()):
            challenge = {"WWW-Authenticate": "Bearer"}
            return HttpResponse(
                "A token is needed.\n", TEXT, HTTPStatus.UNAUTHORIZED, headers=challenge
            )
        return view(request)

    return checked


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer ok when the database answers; one that does not makes this a 503, as on every page."""
    checks.database()
    return HttpResponse("ok", content_type="text/plain")


@require_safe
@never_cache
def live(request: HttpRequest) -> HttpResponse:
    """The process answers; whoever restarts it for another answer would not mend a database."""
    return HttpResponse("ok", content_type=TEXT)


@require_safe
@never_cache
def ready(request: HttpRequest) -> HttpResponse:
    """Participants may be sent here."""
    return _report(checks.look_at(checks.READY))


@require_safe
@never_cache
@with_token
def deep(request: HttpRequest) -> HttpResponse:
    """All that the site needs, also for what participants do not wait for."""
    return _report(checks.look_at(checks.DEEP))


@require_safe
@never_cache
@with_token
def metrics(request: HttpRequest) -> HttpResponse:
    """The page that Prometheus reads."""
    content, content_type = exposition(request.headers.get("Accept", ""))
    return HttpResponse(content, content_type)


def _report(parts: list[checks.Part]) -> HttpResponse:
    lines = "".join(f"{part.line}\n" for part in parts)
    is_well = not any(part.problem for part in parts)
    status = HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE
    return HttpResponse(lines, TEXT, status)


urlpatterns = [
    path("healthz", healthz),
    path("healthz/live", live),
    path("healthz/ready", ready),
    path("healthz/deep", deep),
    path("metrics", metrics),
]
