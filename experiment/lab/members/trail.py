"""The audit trail: of one study for those who may see it, of the site for its administrators."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_site_admins, for_study
from experiment.models import AuditEvent, Study
from experiment.services import audit

PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class ShownEvent:
    event: AuditEvent
    details: list[tuple[str, str]]


@require_safe
@for_study(Right.SEE_TRAIL)
def trail(request: HttpRequest, study: Study) -> HttpResponse:
    events = AuditEvent.objects.filter(study=study.slug)
    return render(request, "lab/members/trail.html", _context(request, events) | {"study": study})


@require_safe
@for_site_admins
def site_trail(request: HttpRequest) -> HttpResponse:
    context = _context(request, AuditEvent.objects.all())
    return render(request, "lab/members/site_trail.html", context | {"section": "trail"})


def _context(request: HttpRequest, events: QuerySet[AuditEvent]) -> dict[str, Any]:
    page = Paginator(events.order_by("-pk"), PER_PAGE).get_page(request.GET.get("page"))
    context: dict[str, Any] = {"page": page, "events": [_shown(event) for event in page]}
    if "verify" in request.GET:
        context |= {"verified": True, "broken": audit.verify()}
    return context


def _shown(event: AuditEvent) -> ShownEvent:
    return ShownEvent(
        event, [(name.replace("_", " "), _text(value)) for name, value in event.details.items()]
    )


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(_pairs(value))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value in (None, "") else str(value)


def _pairs(value: dict[str, Any]) -> Iterator[str]:
    return (f"{name} {_text(inner)}" for name, inner in value.items())
