"""Takes a participant's data away: all of them, or all that could lead to the person."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import connection, transaction
from django.db.models import F
from django.dispatch import Signal

from experiment.domain.exclusion import WITHDRAWN
from experiment.models import Judgment, Participant, RecruitmentRecord, Study, WrittenAnswer
from experiment.models.participants import new_seed
from experiment.services.counting import Difference, judged_by
from experiment.services.export.jobs import delete_exports
from lib.unguessable import unguessable_id

Stage = Participant.Stage
# Sent within the transaction, with `study`: other apps delete what they computed from its data
people_erased = Signal()

# Of a participant, what says nothing of the person; every other column is emptied, also one that comes later
_FLOW = "id study kind stage position page_reached policy plan consent_version consent_hash consented_at excluded_by"
KEPT_OF_ERASED = {*_FLOW.split(), *["public_id", "enrollment_key", "code_digest", "finished_at"]}
KEPT_OF_ANONYMOUS = {*_FLOW.split(), *["last_seen_at", "left_at", "cheated", "practice_attempts"]}
TIMES = (
    "rt_choice_ms",
    "rt_final_choice_ms",
    "rt_ms",
    "confidence_first_ms",
    "confidence_last_ms",
    "expertise_first_ms",
    "expertise_last_ms",
    "hidden_ms",
)


def erase(person: Participant, study: Study, now: datetime) -> None:
    """Delete the answers of a locked participant, and all that they said.

    Their empty row stays, so that the flow of participants still adds up.
    """
    with _counted_again(person, study) as counts:
        counts.forget_trials(person.trials.values_list("item", flat=True))
        _open_to_change(person)
        Judgment.objects.filter(trial__participant=person).delete()
        person.trials.all().delete()
        RecruitmentRecord.objects.filter(participant=person).delete()
        _empty(person, KEPT_OF_ERASED)
        person.consented_at, person.finished_at = (
            _day(person.consented_at),
            _day(person.finished_at),
        )
        person.withdrawn_at, person.excluded_by = now, WITHDRAWN.code
        person.save()


def anonymise(person: Participant, study: Study) -> None:
    """Keep the answers of a locked participant, and nothing that could lead from them to the person.

    The row gets another pseudonym: neither their code and cookie nor an earlier export names it any more.
    """
    with _counted_again(person, study):
        stage = person.stage
        _open_to_change(person)
        _coarsen(person)
        # Words of one's own can say who wrote them, as a comment can. The rows stay: without them only
        # those of who did not know would be counted
        answers = WrittenAnswer.objects.filter(judgment__trial__participant=person)
        answers.filter(abstained=False).update(text="", erased=True)
        answers.update(first_ms=None, last_ms=None)
        RecruitmentRecord.objects.filter(participant=person).delete()
        _empty(person, KEPT_OF_ANONYMOUS)
        person.stage, person.is_anonymous, person.seed = stage, True, new_seed()
        for name in ("consented_at", "last_seen_at", "left_at"):
            setattr(person, name, _month(getattr(person, name)))
        person.save()


def forget_copies(study: Study) -> None:
    """Delete what was made of the study's data: exports, and what other apps computed."""
    delete_exports(study)
    people_erased.send(Study, study=study)
    if connection.vendor == "sqlite":
        transaction.on_commit(_empty_log, robust=True)


@contextmanager
def _counted_again(person: Participant, study: Study) -> Iterator[Difference]:
    """Take the participant out of the counters, and put them back as they are then."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA secure_delete = ON")  # else the file's free pages keep the texts
    limit_ms = Study.objects.get(pk=study.pk).fast_limit_ms  # held by the caller, before the person
    counts = Difference()
    if person.has_ended or person.left_at is not None:
        counts.add(person, judged_by([person]), limit_ms, sign=-1)
    yield counts
    if person.has_ended or person.left_at is not None:
        counts.add(person, judged_by([person]), limit_ms)
    counts.write(study, person.kind)


def _open_to_change(person: Participant) -> None:
    """A trigger lets nobody's answers be changed or deleted but those of who withdrew."""
    person.stage = Stage.WITHDRAWN
    Participant.objects.filter(pk=person.pk).update(stage=Stage.WITHDRAWN)


def _coarsen(person: Participant) -> None:
    """Of times only what a rule needs: whole seconds on a page, and no hour of the day."""
    judgments = Judgment.objects.filter(trial__participant=person)
    for judgment in judgments.filter(rt_ms=None).select_related("trial"):
        judgments.filter(pk=judgment.pk).update(rt_ms=judgment.server_ms)
    seconds = {name: F(name) / 1000 * 1000 for name in TIMES}
    nothing = ("idempotency_key", "viewport_width", "viewport_height", "received_at")
    judgments.update(**seconds, **dict.fromkeys(nothing))
    for trial in person.trials.all():
        person.trials.filter(pk=trial.pk).update(token=unguessable_id())
    person.trials.update(drawn_at=None, shown_at=None, draw=b"")


def _empty(person: Participant, kept: set[str]) -> None:
    for field in person._meta.concrete_fields:
        if field.name not in kept:
            setattr(person, field.attname, None if field.null else field.get_default())


def _day(moment: datetime | None) -> datetime | None:
    return moment and moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _month(moment: datetime | None) -> datetime | None:
    day = _day(moment)
    return day and day.replace(day=1)


def _empty_log() -> None:
    """SQLite's log beside the file holds what was there before; as far as nobody reads at this moment."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
