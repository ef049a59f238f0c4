"""What waits for who is signed in: for the first page of the lab, and as a number for the menu of every page."""

from collections.abc import Mapping
from time import time
from typing import Any

from django import template
from django.utils import timezone

from experiment.services.work import Listed
from scoring.services import waiting as service

register = template.Library()
KEY = "waiting"
KEPT_S = 30  # every page shows the number, and counting it asks for more than most pages do


@register.simple_tag(takes_context=True)
def waiting(context: Mapping[str, Any]) -> service.Waiting:
    request = context["request"]
    if not hasattr(request, "waiting"):
        request.waiting = service.waiting_for(request.user, timezone.now())
        request.session[KEY] = [request.waiting.n, time()]
    found: service.Waiting = request.waiting
    return found


@register.simple_tag(takes_context=True)
def n_waiting(context: Mapping[str, Any]) -> int:
    """As it was half a minute ago at most; on the first page, as the page says."""
    n, counted_at = context["request"].session.get(KEY, (0, 0))
    is_kept = 0 <= time() - counted_at < KEPT_S and context.get("section") != "studies"
    return int(n) if is_kept else waiting(context).n


@register.simple_tag(takes_context=True)
def lately_ended(context: Mapping[str, Any]) -> list[Listed]:
    return service.lately_ended(context["request"].user, timezone.now())
