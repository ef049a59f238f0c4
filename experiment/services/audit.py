"""The audit trail: events are appended in the transaction that does what they tell of."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.utils import timezone

from experiment.models import AuditEvent, Study
from lib.locks import hold

Action = AuditEvent.Action
Detail = str | int | float | bool | None | list[str] | dict[str, str] | dict[str, int]


@transaction.atomic
def record(
    action: AuditEvent.Action,
    *,
    by: User | AnonymousUser | None = None,
    study: Study | None = None,
    reason: str = "",
    **details: Detail,
) -> AuditEvent:
    """Append an event. `by` is None where a command or the site itself acts."""
    hold("audit")  # one after the other: each names the one before
    last = AuditEvent.objects.order_by("-pk").values_list("sha256", flat=True).first()
    event = AuditEvent(
        at=timezone.now(),
        actor="" if by is None else by.get_username(),
        action=action,
        study="" if study is None else study.slug,
        details=details,
        reason=reason,
        previous_sha256=last or "",
    )
    event.sha256 = event.chained()
    event.save(force_insert=True)
    return event


@dataclass(frozen=True, slots=True)
class Break:
    """The first event at which the chain does not hold."""

    number: int
    what: str


def verify() -> Break | None:
    """Recompute the whole chain; None where every event says what it said when it was appended.

    Events missing at the end cannot be seen from the chain alone: keep the newest hash elsewhere to know.
    """
    previous = ""
    for event in _all():
        if event.previous_sha256 != previous:
            return Break(event.pk, "the previous event is missing or was replaced")
        if event.chained() != event.sha256:
            return Break(event.pk, "it was changed")
        previous = event.sha256
    return None


def _all() -> Iterator[AuditEvent]:
    return AuditEvent.objects.order_by("pk").iterator(chunk_size=1000)
