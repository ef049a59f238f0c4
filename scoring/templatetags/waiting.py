"""Work that waits for the user: for the first page of the lab, and as a number for the menu of every page."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.utils import timezone

from experiment.services.sign_in import is_verified
from experiment.services.work import Listed
from scoring.services import waiting as service

register = template.Library()
SAYING = ("studies", "fields")  # sections whose pages say what waits
KEPT_S = 30  # every page shows the number, and counting it asks for more than most pages do


@register.simple_tag(takes_context=True)
def waiting(context: Mapping[str, Any]) -> service.Waiting:
    request = context["request"]
    if not hasattr(request, "waiting"):
        request.waiting = service.waiting_for(request.user, timezone.now())
        # Not in the session: a slow page would write back what another one has changed there meanwhile
        cache.set(_key(request.user), request.waiting.n, KEPT_S)
    found: service.Waiting = request.waiting
    return found


@register.simple_tag(takes_context=True)
def n_waiting(context: Mapping[str, Any]) -> int:
    """As it was half a minute ago at most; as the page says where it says what waits. 0 before the second step of signing in."""
    user = context["request"].user
    if settings.REQUIRE_TOTP and not is_verified(user):
        return 0
    says_it = context.get("section") in SAYING or context.get("part") == "grading"
    kept: int | None = None if says_it else cache.get(_key(user))
    return waiting(context).n if kept is None else kept


def _key(user: User) -> str:
    return f"waiting-{user.pk}"


@register.simple_tag(takes_context=True)
def lately_ended(context: Mapping[str, Any]) -> list[Listed]:
    return service.lately_ended(context["request"].user, timezone.now())
