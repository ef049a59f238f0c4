"""The flow of a study's participants, and what they wrote: what the lab's page shows, counted from rows."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from experiment.domain.exclusion import PARTICIPANT_REASONS, WITHDRAWN
from experiment.models import Participant, Study
from experiment.models.participants import ParticipantQuerySet

Kind, Stage = Participant.Kind, Participant.Stage


@dataclass(frozen=True, slots=True)
class Step:
    """A line of the flow; `percent` is of those who consented.

    `reason` says why participants leave the flow here, in the words of the exclusion's rule.
    """

    code: str
    n: int
    percent: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Flow:
    steps: tuple[Step, ...]
    live: int
    withdrawn: int
    valid: int


def flow(study: Study, kind: str, now: datetime) -> Flow:
    """From consent to valid finishers, for one kind of participants."""
    people = Participant.objects.of(study, kind)
    counts = _flow_counts(people)
    total = counts["consented"]

    def step(code: str, n: int, reason: str = "") -> Step:
        return Step(code, n, 100 * n / total if total else 0.0, reason)

    codes = ["consented", "demographics", "practice", "started", "finished"]
    if not study.demographic_fields:
        codes.remove("demographics")
    if kind == Kind.IMPORTED:
        codes = ["finished"]  # nothing is known of the pages before
    steps = [
        *(step(code, counts[code]) for code in codes),
        *(step(code, n, label) for code, label, n in _losses(people)),
        step("valid", counts["valid"]),
    ]
    live = people.live(study, now).count()
    return Flow(tuple(steps), live, counts["withdrawn"], counts["valid"])


def _flow_counts(people: ParticipantQuerySet) -> dict[str, int]:
    return people.aggregate(
        consented=Count("pk"),
        demographics=Count("pk", filter=Q(page_reached__gte=1)),
        practice=Count("pk", filter=Q(page_reached__gte=2)),
        started=Count("pk", filter=Q(started_at__isnull=False)),
        # Who withdraws afterwards had finished all the same.
        finished=Count("pk", filter=Q(stage=Stage.FINISHED) | Q(finished_at__isnull=False)),
        valid=Count("pk", filter=Q(stage=Stage.FINISHED, excluded_by="")),
        withdrawn=Count("pk", filter=Q(stage=Stage.WITHDRAWN)),
    )


def _losses(people: ParticipantQuerySet) -> list[tuple[str, str, int]]:
    """(code, label, finishers) of every reason that holds for anyone; one person can have several."""
    rows = people.finished().exclude(excluded_by="").order_by().values_list("excluded_by")
    tally: Counter[str] = Counter()
    for codes, n in rows.annotate(n=Count("pk")):
        tally.update(dict.fromkeys(codes.split(), n))
    tally[WITHDRAWN.code] = people.filter(stage=Stage.WITHDRAWN, finished_at__isnull=False).count()
    labels = {reason.code: reason.label for reason in PARTICIPANT_REASONS}
    codes = (*labels, *(tally.keys() - labels))
    return [(code, labels.get(code, code), tally[code]) for code in codes if tally[code]]


def recent_comments(study: Study, kind: str, n: int = 5) -> ParticipantQuerySet:
    people = (
        Participant.objects.of(study, kind).exclude(comments="").filter(finished_at__isnull=False)
    )
    return people.only("public_id", "comments", "finished_at").order_by("-finished_at")[:n]
