"""The audit trail: events are appended in the transaction that does what they tell of."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from experiment.models import AuditEvent, Study
from experiment.models.studies import RULE_COLUMNS
from lib.locks import do_last, hold
from lib.opened import Edit

Action = AuditEvent.Action
Detail = str | int | float | bool | None | list[str] | dict[str, str] | dict[str, int]


def record(
    action: AuditEvent.Action,
    *,
    by: User | AnonymousUser | None = None,
    study: Study | None = None,
    reason: str = "",
    **details: Detail,
) -> AuditEvent:
    """Append an event as the last thing of the transaction, in which nobody sees it before. `by` is None where a command or the site itself acts."""
    event = AuditEvent(
        at=timezone.now(),
        actor="" if by is None else by.get_username(),
        action=action,
        study="" if study is None else study.slug,
        details=details,
        reason=reason,
    )
    do_last(_append, event)
    return event


def _append(events: list[AuditEvent]) -> None:
    """The whole site's events wait for one another until the transaction that appends one has ended: nobody else could sign in meanwhile."""
    hold("audit")  # one after the other: each names the one before
    last = AuditEvent.objects.order_by("-pk").values_list("sha256", flat=True).first() or ""
    for event in events:
        event.previous_sha256 = last
        event.sha256 = last = event.chained()
    AuditEvent.objects.bulk_create(events)


def events_of(study: Study | None = None, field: str = "") -> QuerySet[AuditEvent]:
    """Those of the study, or of the field of this name, since it was made or got it: another one that had its name has others."""
    events = AuditEvent.objects.filter(study="" if study is None else study.slug)
    if study is None:
        events = events.filter(details__field=field)
    begins = Q(action__in=(Action.STUDY_CREATED, Action.FIELD_CREATED))
    renamed = Q(action=Action.FIELD_CHANGED, details__changes__has_key="name")
    made = events.filter(begins | renamed).order_by("-pk")
    return events.filter(pk__gte=Coalesce(Subquery(made.values("pk")[:1]), Value(0)))


def people_named() -> set[str]:
    """Names of accounts that the trail holds, those of deleted ones among them."""
    events = AuditEvent.objects.order_by()
    names = {*events.values_list("actor", flat=True).distinct()}
    members = events.filter(details__has_key="member").values_list("details__member", flat=True)
    return (names | {*members.distinct()}) - {""}


# Whose details name a row of the study or field, not the study or field itself
OF_A_ROW = ("arm", "survey_question", "channel", "subfield", "question_template", "member", "item")
# What an event changes by being one
BY_ITSELF: dict[str, str] = {
    Action.CONSENT_CHANGED: "consent",
    Action.ITEMS_CHANGED: "items",  # also a pause, of one item
    Action.RECRUITMENT: "recruitment",
    Action.ROLE_CHANGED: "role",
}
MOST_EVENTS = 500  # that are looked through


def last_changes(
    names: Iterable[str], study: Study | None = None, field: str = "", **row: str
) -> dict[str, Edit]:
    """The last change of each of these, by name, as far as the newest events of the study or field say; `row` names one of its rows."""
    found: dict[str, Edit] = {}
    wanted = set(names)
    for event in events_of(study, field).order_by("-pk")[:MOST_EVENTS]:
        if any(event.details.get(name) != row.get(name) for name in OF_A_ROW):
            continue
        for name in wanted & changed_by(event):
            found.setdefault(name, Edit(event.actor, event.at))
        if found.keys() == wanted:
            break
    return found


def changed_by(event: AuditEvent) -> set[str]:
    """The columns and settings that an event says it changed."""
    told = event.details
    rules = {RULE_COLUMNS.get(rule, rule) for rule in told.get("rules", ())}
    return {
        *told.get("changed", ()),
        *told.get("changes", ()),
        *rules,
        BY_ITSELF.get(event.action, ""),
    }


@dataclass(frozen=True, slots=True)
class Break:
    """The first event at which the chain does not hold."""

    number: int
    what: str


CHANGED = "it was changed"


def verify() -> Break | None:
    """Recompute the whole chain; None where every event says what it said when it was appended.

    Events missing at the end cannot be seen from the chain alone: keep the newest hash elsewhere to know.
    """
    previous = ""
    for event in _in_order(AuditEvent.objects.all()):
        if event.previous_sha256 != previous:
            return Break(event.pk, "the previous event is missing or was replaced")
        if event.chained() != event.sha256:
            return Break(event.pk, CHANGED)
        previous = event.sha256
    return None


def first_changed(events: QuerySet[AuditEvent]) -> Break | None:
    """The first of some events that does not say what it said; that one between them is missing cannot be seen from these alone."""
    for event in _in_order(events):
        if event.chained() != event.sha256:
            return Break(event.pk, CHANGED)
    return None


def _in_order(events: QuerySet[AuditEvent]) -> Iterator[AuditEvent]:
    return events.order_by("pk").iterator(chunk_size=1000)
