"""The flow of a study's participants, and what they wrote: what the lab's page shows, counted from rows."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, F, Q

from experiment.domain.exclusion import PARTICIPANT_REASONS, WITHDRAWN
from experiment.models import Judgment, Participant, Study
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


@dataclass(frozen=True, slots=True)
class Readings:
    """How many finishers, and test trials of theirs, each reading of two rules would leave out, whichever holds.

    untouched_neither: moved neither slider ever; untouched_either: never moved one of the two. fast_page: trials under
    the minimum time to Continue; fast_choice: to the first choice.
    """

    untouched_neither: int
    untouched_either: int
    fast_page: int
    fast_choice: int


def readings(study: Study, kind: str) -> Readings:
    """Counted in the database, by the definitions of domain/exclusion.py."""
    finished = Participant.objects.of(study, kind).finished()
    moved = {
        name: Count("trials__judgment", filter=Q(**{f"trials__judgment__{name}_moved": True}))
        for name in ("confidence", "expertise")
    }
    people = finished.order_by().annotate(n=Count("trials__judgment"), **moved).filter(n__gt=0)
    untouched = people.aggregate(
        neither=Count("pk", filter=Q(confidence=0, expertise=0)),
        either=Count("pk", filter=Q(confidence=0) | Q(expertise=0)),
    )
    limit_ms = study.min_rt_ms
    on_server = F("trial__shown_at") + timedelta(milliseconds=limit_ms)
    page = Q(rt_ms__lt=limit_ms) | Q(rt_ms=None, received_at__lt=on_server)
    choice = Q(rt_choice_ms__lt=limit_ms) | Q(rt_choice_ms=None) & page
    tests = Judgment.objects.of(study, kind).exclude(trial__stratum="catch")
    fast = tests.filter(trial__participant__stage=Stage.FINISHED).aggregate(
        page=Count("pk", filter=page), choice=Count("pk", filter=choice)
    )
    return Readings(untouched["neither"], untouched["either"], fast["page"], fast["choice"])


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
