"""A participant takes back their data: what is held, what is taken away, and what is remembered of it beside the database."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages
from django.db import connection, transaction
from django.db.models import F, Q
from django.dispatch import Signal

from experiment.domain.exclusion import WITHDRAWN
from experiment.domain.survey import CHECKS
from experiment.models import (
    AdvisedTrial,
    ExcludedByHand,
    Judgment,
    Participant,
    RecruitmentRecord,
    Study,
    SurveyAnswer,
    WrittenAnswer,
)
from experiment.models.participants import ParticipantQuerySet, new_seed
from experiment.models.trials import server_ms
from experiment.services import audit
from experiment.services.counting import Difference, judged_by
from experiment.services.export.jobs import delete_exports
from experiment.services.payments import keep_promise
from experiment.services.taking_part import MEASURED
from lib.locks import hold_shared
from lib.storage import file_names
from lib.unguessable import unguessable_id

Stage = Participant.Stage
CHUNK = 500
# Pages show a pseudonym's first 8 digits; the whole one has 32
SHOWN, WHOLE = 8, 32
PSEUDONYM = re.compile(f"[0-9a-fA-F]{{{SHOWN},{WHOLE}}}")
RESTORED = "A restored backup had brought them back."


def withdraw(study: Study, code: str, now: datetime) -> Participant | None:
    """Withdraw who has this code; None if the study has no such code."""
    with transaction.atomic():
        participant = _locked(study).with_code(code).first()
        if participant is not None:
            _withdraw(participant, study, now)
        return participant


def withdraw_on_request(
    study: Study, people: Iterable[Participant], now: datetime, *, by: User, reason: str
) -> None:
    """Withdraw all of these, whom one person asked a researcher for."""
    with transaction.atomic():
        for person in _locked(study).filter(pk__in=[each.pk for each in people]).order_by("pk"):
            _withdraw(person, study, now, by=by, reason=reason)


def find_on_request(study: Study, name: str) -> list[Participant]:
    """Every attempt of whoever came under this recruitment id or goes by this pseudonym, the oldest first.

    An id can be one person's at one site and another's at another. Imported people are no participants of ours.
    A pseudonym may be as short as pages show it, unless those of two people begin so, or it is somebody's id.
    """
    people = study.participants.exclude(kind=Participant.Kind.IMPORTED)
    wanted, digits = Q(recruitment__external_id=name), name.replace("-", "")
    is_whole = len(digits) == WHOLE
    if PSEUDONYM.fullmatch(digits) and (is_whole or not people.filter(wanted).exists()):
        named = list(people.beginning(digits)[:2])
        if len(named) == 1:
            wanted |= Q(pk=named[0].pk)
            for itself in RecruitmentRecord.objects.filter(participant=named[0]):
                wanted |= Q(recruitment__in=RecruitmentRecord.objects.of_same(itself))
    return list(people.filter(wanted).select_related("recruitment").order_by("pk"))


@dataclass(frozen=True, slots=True)
class Reapplied:
    """How many ever withdrew, and how many of them had come back with a restored database."""

    tombstones: int = 0
    withdrawn: int = 0


def reapply_withdrawals() -> Reapplied:
    """Withdraw again whoever is there although they withdrew: after a backup was restored."""
    times = {stone.participant: stone.withdrawn_at for stone in read_tombstones()}
    pseudonyms, n = list(times), 0
    for at in range(0, len(pseudonyms), CHUNK):
        here = Participant.objects.filter(public_id__in=pseudonyms[at : at + CHUNK])
        back = here.exclude(stage=Stage.WITHDRAWN).select_related("study")
        for person in list(back):
            withdrawn_at = times[person.public_id]
            with transaction.atomic():
                locked = _locked(person.study).get(pk=person.pk)
                _withdraw(locked, person.study, withdrawn_at, reason=RESTORED)
            n += 1
    return Reapplied(len(times), n)


def _locked(study: Study) -> ParticipantQuerySet:
    hold_shared(study)  # its counters count under one time until the end
    return Participant.objects.select_for_update(no_key=True).filter(study=study)


def _withdraw(
    participant: Participant,
    study: Study,
    now: datetime,
    *,
    by: User | None = None,
    reason: str = "",
) -> None:
    """As the study's policy says. Who has not finished leaves nothing that counts: their answers are deleted."""
    if participant.stage == Stage.WITHDRAWN:
        return
    pseudonym = participant.public_id
    is_kept = study.keeps_withdrawn_answers and participant.stage == Stage.FINISHED
    keep_promise(participant, study)
    if is_kept:
        anonymise(participant, study)
    else:
        erase(participant, study, now)
    forget_copies(study)
    audit.record(
        audit.Action.WITHDRAWN,
        by=by,
        study=study,
        reason=reason,
        done="anonymised" if is_kept else "deleted",
        asked="a researcher" if by else "the participant",
    )
    write_tombstone(Tombstone(pseudonym, now))


# Sent within the transaction, with `study`: other apps delete what they computed from its data
people_erased = Signal()

# Of a participant, what says nothing of the person; every other column is emptied, also one that comes later
_FLOW = "id study kind stage position page_reached policy arm plan consent_version consent_hash consented_at excluded_by"
KEPT_OF_ERASED = {*_FLOW.split(), *["public_id", "enrollment_key", "code_digest", "finished_at"]}
KEPT_OF_ANONYMOUS = {*_FLOW.split(), *["last_seen_at", "left_at", "cheated", "practice_attempts"]}
ADVISED_TIMES = ("viewed_ms", "first_rt_ms", "first_rt_choice_ms", "first_server_ms")
TIMES = [*(name for name in MEASURED if name.endswith("_ms")), "server_ms"]


def erase(person: Participant, study: Study, now: datetime) -> None:
    """Delete the answers of a locked participant, and all that they said.

    Their empty row stays, so that the flow of participants still adds up.
    """
    with _counted_again(person, study) as counts:
        counts.forget_trials(person, person.trials.values_list("item", flat=True))
        _open_to_change(person)
        Judgment.objects.filter(trial__participant=person).delete()
        person.trials.all().delete()
        person.survey_answers.all().delete()
        RecruitmentRecord.objects.filter(participant=person).delete()
        ExcludedByHand.objects.filter(participant=person).delete()
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
        # As all that they said of themselves; rules that are applied again ask for attention checks
        person.survey_answers.exclude(question__kind__in=CHECKS).delete()
        person.survey_answers.update(received_at=_month(person.consented_at))
        RecruitmentRecord.objects.filter(participant=person).delete()
        for row in ExcludedByHand.objects.filter(participant=person):
            row.words, row.created_at = "", _month(row.created_at) or row.created_at
            row.save()
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
    """Coarsens times to what a rule needs: whole seconds on a page, and no hour of the day."""
    judgments = Judgment.objects.filter(trial__participant=person)
    for judgment in judgments.filter(rt_ms=None).select_related("trial"):
        judgments.filter(pk=judgment.pk).update(rt_ms=judgment.elapsed_ms)
    seconds = {name: F(name) / 1000 * 1000 for name in TIMES}
    nothing = ("idempotency_key", "viewport_width", "viewport_height", "received_at")
    judgments.update(**seconds, **dict.fromkeys(nothing))
    advised = AdvisedTrial.objects.filter(trial__participant=person)
    for row in advised.filter(first_rt_ms=None).exclude(first_side="").select_related("trial"):
        first_ms = server_ms(row.trial.shown_at, row.first_received_at)
        advised.filter(pk=row.pk).update(first_rt_ms=first_ms)
    advised.update(
        **{name: F(name) / 1000 * 1000 for name in ADVISED_TIMES},
        **dict.fromkeys(("shown_at", "token", "first_key", "first_received_at")),
        first_more={},
    )
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


@dataclass(frozen=True, slots=True)
class Held:
    person: Participant
    recruitment: RecruitmentRecord | None
    judgments: Sequence[Judgment]
    survey: Sequence[SurveyAnswer] = ()
    unrevised: Sequence[AdvisedTrial] = ()  # answers before advice that no answer after it followed

    @property
    def has_finished(self) -> bool:
        return self.person.stage == Stage.FINISHED

    @property
    def has_written(self) -> bool:
        return any(hasattr(judgment, "written_answer") for judgment in self.judgments)

    @property
    def has_attention(self) -> bool:
        """True if they answered attention checks, which `anonymise` keeps."""
        return any(answer.question.rules.is_check for answer in self.survey)

    @property
    def has_erased_survey(self) -> bool:
        """True if they answered survey questions that `anonymise` does not keep."""
        return any(not answer.question.rules.is_check for answer in self.survey)


def held_about(person: Participant) -> Held:
    judgments = Judgment.objects.filter(trial__participant=person)
    judgments = judgments.select_related("trial__advised", "written_answer")
    unrevised = AdvisedTrial.objects.filter(trial__participant=person, trial__judgment=None)
    unrevised = unrevised.exclude(first_side="").select_related("trial")
    record: RecruitmentRecord | None = getattr(person, "recruitment", None)
    survey = person.survey_answers.select_related("question").order_by("question__number", "pk")
    by_position = list(judgments.order_by("trial__position"))
    return Held(person, record, by_position, list(survey), list(unrevised))


FOLDER = "tombstones"


@dataclass(frozen=True, slots=True)
class Tombstone:
    participant: UUID
    withdrawn_at: datetime


def write_tombstone(tombstone: Tombstone) -> None:
    said = {
        "participant": str(tombstone.participant),
        "withdrawn_at": tombstone.withdrawn_at.isoformat(),
    }
    name = f"{FOLDER}/{tombstone.participant}.json"
    if not _storage().exists(name):
        _storage().save(name, ContentFile(json.dumps(said).encode()))


def read_tombstones() -> Iterator[Tombstone]:
    for name in file_names(_storage(), FOLDER):
        if name.startswith("."):
            continue  # a draft of a process that was killed
        with _storage().open(f"{FOLDER}/{name}") as file:
            said = json.loads(file.read())
        yield Tombstone(UUID(said["participant"]), datetime.fromisoformat(said["withdrawn_at"]))


def _storage() -> Storage:
    return storages["withdrawals"]
