"""Compares what participants were told with what the database holds, and looks for tracebacks in the site's log.

The audit trail holds what the lab does, and withdrawals; answers and journeys that end are not in it, so that its chain is
verified, and withdrawals and studies are compared with their rows.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from django.db.models import Count, F, Max

from benchmarks.web.people import Ledger, Sent
from benchmarks.web.site import SLUG
from experiment.models import AdvisedTrial, AuditEvent, Judgment, Participant, Study
from experiment.services import audit, recounting

SHOWN = 5  # of each kind


@dataclass(frozen=True, slots=True)
class Findings:
    stored: int
    lost: int
    doubled: int
    problems: tuple[str, ...]


def compare(ledger: Ledger, *, all_finished: bool = True) -> Findings:
    """With `all_finished` everybody reached the end, so that what is stored was acknowledged, and nothing else is there."""
    rows = Judgment.objects.filter(idempotency_key__isnull=False).values_list(
        "idempotency_key", "trial__position", "side", "confidence", "expertise"
    )
    stored: dict[str, list[tuple[int, str, int | None, int | None]]] = {}
    # Answers before advice are told as stored, too
    first = AdvisedTrial.objects.filter(first_key__isnull=False).values_list(
        "first_key", "trial__position", "first_side", "first_confidence", "first_expertise"
    )
    for key, position, side, confidence, expertise in chain(rows.iterator(), first.iterator()):
        stored.setdefault(str(key), []).append((position, side, confidence, expertise))
    lost = [
        sent
        for key, sent in ledger.acknowledged.items()
        if _as_row(sent) not in stored.get(key, [])
    ]
    doubled = sum(len(answers) - 1 for answers in stored.values())
    problems = [*ledger.problems, *(f"lost: {sent}" for sent in lost[:SHOWN]), *_broken()]
    if all_finished:
        unknown = stored.keys() - ledger.acknowledged.keys()
        if unknown:
            problems.append(f"{len(unknown)} answers are stored without confirmation")
        n_finished = Participant.objects.finished().count()
        if n_finished != ledger.finished:
            problems.append(f"{n_finished} finished, {ledger.finished} saw the confirmation")
    return Findings(sum(map(len, stored.values())), len(lost), doubled, tuple(problems))


def _as_row(sent: Sent) -> tuple[int, str, int, int]:
    return sent.position, sent.side, sent.confidence, sent.expertise


def out_of_step() -> Iterator[str]:
    """Counters that do not say what the rows do, and an audit trail that does not verify."""
    drifts = recounting.check(Study.objects.all())
    yield from (f"counter: {drift}" for drift in drifts[:SHOWN])
    if (broken := audit.verify()) is not None:
        yield f"audit trail: event {broken.number}: {broken.what}"


def _broken() -> list[str]:
    """Rules that must hold for the rows at any moment, and do not."""
    found = [*out_of_step(), *_misplaced(), *_untold()]
    people = Participant.objects.annotate(n=Count("trials"), last=Max("trials__position"))
    gaps = people.filter(n__gt=0).exclude(n=F("last")).count()
    if gaps:
        found.append(f"{gaps} participants have gaps in their positions")
    judged = Participant.objects.finished().annotate(
        n=Count("trials", distinct=True), answered=Count("trials__judgment", distinct=True)
    )
    if unanswered := judged.exclude(n=F("answered")).count():
        found.append(f"{unanswered} finished participants have trials without an answer")
    return found


def _misplaced() -> Iterator[str]:
    """Participants who stand on another page than their answers have brought them to."""
    stage = Participant.Stage
    people = Participant.objects.exclude(stage=stage.WITHDRAWN).filter(enrollment_key__isnull=False)
    answered = people.annotate(n_answers=Count("trials__judgment", distinct=True))
    counts = dict(answered.values_list("pk", "n_answers"))
    for person in people.iterator():
        n, last = counts[person.pk], person.n_trials
        has_begun = person.stage in (stage.TRIAL, stage.DEBRIEF, stage.FINISHED)
        position = min(n + 1, last) if has_begun else 1
        is_over = person.stage in (stage.DEBRIEF, stage.FINISHED)
        is_right = n == last if is_over else n < last if has_begun else not n
        is_there = (person.position, person.page_reached) == (position, person.page_number)
        if not (is_right and is_there):
            yield (
                f"participant {person.pk}: {n} answers, {person.stage}, position {person.position}, "
                f"page {person.page_reached}"
            )


def _untold() -> Iterator[str]:
    """Rows that the audit trail should tell of, and does not; and the other way round."""
    events = AuditEvent.objects.filter(action=AuditEvent.Action.WITHDRAWN)
    told = events.filter(details__done="deleted").count()
    withdrawn = Participant.objects.filter(withdrawn_at__isnull=False).count()
    if told != withdrawn:
        yield f"audit trail: {told} withdrawals, {withdrawn} participants withdrew"
    made = AuditEvent.objects.filter(action=AuditEvent.Action.STUDY_CREATED, study=SLUG).count()
    if made != Study.objects.filter(slug=SLUG).count():
        yield f"audit trail: study {SLUG} was created {made} times"


SHOWN = 5
# What passes is answered with 503 and asked again; where it is not, the request's own line says so. A driver's error alone is
# the cause of one of Django's, which decides
PASSING = r"^(sqlite3|psycopg(\.errors)?)\.|^django\.db\.utils\.(Operational|Interface)Error"
DISK_FULL = (r"No space left on device",)
# The client's pool takes a connection from its list, and makes one when that fails
REDIS_GONE = (
    r"^(redis|kombu)\.exceptions\.|^Connection(Refused|Reset)Error|^IndexError: pop from empty list",
)
STORAGE_GONE = (r"NotADirectoryError|StorageGoneError",)
# A record's traceback stands on indented lines; that of a process that ended is as Python writes it
TRACEBACK = re.compile(
    r"^(?P<indent> {4}|)Traceback \(most recent call last\):\n(?:(?P=indent)[ \t]+.*\n|\s*\n)*(?P<error>.*)",
    re.MULTILINE,
)
ERROR = re.compile(r"[A-Za-z_][\w.]*(:|$)")
INTERNAL = re.compile(r"Internal Server Error: .*")


def failures(log: Path, explained: Sequence[str] = ()) -> list[str]:
    """Failures and how often each occurred; without errors in which one of the patterns, which name what the fault explains, is found."""
    if not log.exists():
        return []
    patterns = (PASSING, *explained)
    counts = Counter(
        error
        for error in _errors(log.read_text(errors="replace"))
        if not any(re.search(pattern, error, re.IGNORECASE) for pattern in patterns)
    )
    return [f"in the log, {n} times: {error[:300]}" for error, n in counts.most_common(SHOWN)]


def _errors(log: str) -> Iterator[str]:
    for found in TRACEBACK.finditer(log):
        error = found["error"].strip()
        # Else another process wrote into it, or the log breaks off there: a failed request has its own line besides
        if ERROR.match(error):
            yield error
    for found in INTERNAL.finditer(log):
        yield found[0]
