"""The flow of a study's participants, and what they wrote: what the lab's page shows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, Sum

from experiment.domain.exclusion import PARTICIPANT_REASONS, WITHDRAWN
from experiment.models import Participant, PeopleCount, Study
from experiment.models.participants import ParticipantQuerySet
from experiment.services.flow import FIRST_TRIAL_PAGE

Kind = Participant.Kind
Fate = PeopleCount.Fate
# The page that who passed a step has come to at least
REACHED = {"consented": 0, "demographics": 1, "practice": 2, "started": FIRST_TRIAL_PAGE}


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
    """`excluded`: finishers whom a rule leaves out; who withdrew is none of them."""

    steps: tuple[Step, ...]
    recruited: int
    live: int
    finished: int
    excluded: int
    withdrawn: int
    valid: int


def flow(study: Study, kind: str, now: datetime) -> Flow:
    """From consent to valid finishers, for one kind of participants."""
    settled = list(PeopleCount.objects.filter(study=study, kind=kind, n__gt=0))
    under_way = _under_way(study, kind, now)
    total = _n(settled) + under_way["consented"]

    def step(code: str, n: int, reason: str = "") -> Step:
        return Step(code, n, 100 * n / total if total else 0.0, reason)

    reached = dict(REACHED)
    if not study.demographic_fields:
        del reached["demographics"]
    if kind == Kind.IMPORTED:
        reached = {}  # nothing is known of the pages before
    # Who withdraws afterwards had finished all the same.
    finished = _of(settled, Fate.FINISHED, Fate.WITHDRAWN_FINISHED)
    valid = _n([row for row in _of(settled, Fate.FINISHED) if not row.excluded_by])
    steps = [
        *(
            step(code, _n([row for row in settled if row.page >= page]) + under_way[code])
            for code, page in reached.items()
        ),
        step("finished", _n(finished)),
        *(step(code, n, label) for code, label, n in _losses(settled)),
        step("valid", valid),
    ]
    return Flow(
        steps=tuple(steps),
        recruited=total,
        live=under_way["live"],
        finished=_n(finished),
        excluded=_n(_of(settled, Fate.FINISHED)) - valid,
        withdrawn=_n(_of(settled, Fate.WITHDRAWN, Fate.WITHDRAWN_FINISHED)),
        valid=valid,
    )


def _under_way(study: Study, kind: str, now: datetime) -> dict[str, int]:
    reached = {
        code: Count("pk", filter=Q(page_reached__gte=page)) for code, page in REACHED.items()
    }
    live = Count("pk", filter=Q(last_seen_at__gte=study.live_since(now)))
    return Participant.objects.of(study, kind).under_way().aggregate(live=live, **reached)


def _of(settled: Sequence[PeopleCount], *fates: str) -> list[PeopleCount]:
    return [row for row in settled if row.fate in fates]


def _n(rows: Sequence[PeopleCount]) -> int:
    return sum(row.n for row in rows)


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
    """By the definitions of domain/exclusion.py."""
    finished = PeopleCount.objects.filter(study=study, kind=kind, fate=Fate.FINISHED)
    names = Readings.__dataclass_fields__
    return Readings(**finished.aggregate(**{name: Sum(name, default=0) for name in names}))


def _losses(settled: Sequence[PeopleCount]) -> list[tuple[str, str, int]]:
    """(code, label, finishers) of every reason that holds for anyone; one person can have several."""
    tally: Counter[str] = Counter()
    for row in _of(settled, Fate.FINISHED):
        tally.update(dict.fromkeys(row.excluded_by.split(), row.n))
    tally[WITHDRAWN.code] = _n(_of(settled, Fate.WITHDRAWN_FINISHED))
    labels = {reason.code: reason.label for reason in PARTICIPANT_REASONS}
    codes = (*labels, *(tally.keys() - labels))
    return [(code, labels.get(code, code), tally[code]) for code in codes if tally[code]]


def recent_comments(study: Study, kind: str, n: int = 5) -> ParticipantQuerySet:
    people = (
        Participant.objects.of(study, kind).exclude(comments="").filter(finished_at__isnull=False)
    )
    return people.only("public_id", "comments", "finished_at").order_by("-finished_at")[:n]
