"""A person enters a study and gets trials."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db import IntegrityError, transaction

from experiment.domain import assignment
from experiment.domain.withdrawal_code import new_code
from experiment.models import ConsentVersion, Item, Participant, RecruitmentRecord, Study, Trial
from experiment.services import drawing
from experiment.services.channels import channel_of
from experiment.services.counting import sweep_if_due
from experiment.services.counts import n_valid
from experiment.services.flow import (
    FLOW_FIELDS,
    AlreadySentError,
    ConsentChangedError,
    KnownIdError,
    NotOpenError,
    Refusal,
    advance,
    lock,
    page_number,
    require,
)
from experiment.services.study_versions import freeze
from lib.locks import hold
from lib.prepared import Prepared, insert, update
from lib.unguessable import unguessable_id

Stage = Participant.Stage


@dataclass(frozen=True, slots=True)
class ExternalIds:
    """Who the participant is at the place that recruited them; all empty for a plain link.

    source: whose ids these are, a platform's or one channel's.
    """

    source: str = ""
    id: str = ""
    study_id: str = ""
    session_id: str = ""
    channel: str = ""  # the short name of the channel whose link it was

    @property
    def who(self) -> tuple[str, str]:
        return self.source, self.id


NO_EXTERNAL_IDS = ExternalIds()
# Who was seen a moment ago need not be noted again
SEEN_EVERY = timedelta(seconds=10)
# Of trials, what a draw and a page need
OF_MET = (
    "participant_id",
    "position",
    "stratum",
    "item_id",
    "original_side",
    "token",
    "shown_at",
    "item__doi",
    "item__key",
    "item__sha256",
    "item__template",
    "judgment__idempotency_key",
)


def entry_kind(study: Study, now: datetime, *, is_member: bool, channel: str = "") -> str:
    """The kind of participant that would enter now.

    Raises NotOpenError where the study takes no new participants.
    """
    recruitment, way = Study.Recruitment(study.recruitment), channel_of(study, channel)
    if way is not None and not way.is_open and not is_member:
        raise NotOpenError(Refusal.STUDY_ENDED)
    if recruitment == Study.Recruitment.OPEN:
        if study.opens_at is not None and now < study.opens_at:
            raise NotOpenError(Refusal.STUDY_NOT_STARTED)
        if study.closes_at is not None and now >= study.closes_at:
            raise NotOpenError(Refusal.STUDY_ENDED)
        if study.target_valid is not None and is_full(study):
            raise NotOpenError(Refusal.STUDY_FULL)
        # A member who looks at the running study must not end up in its data.
        return Participant.Kind.PILOT if is_member else Participant.Kind.REAL
    if recruitment == Study.Recruitment.CLOSED:
        raise NotOpenError(Refusal.STUDY_ENDED)
    if recruitment == Study.Recruitment.PILOT or is_member:
        return Participant.Kind.PILOT
    raise NotOpenError(Refusal.STUDY_NOT_STARTED)


def is_full(study: Study) -> bool:
    return n_valid(study, Participant.Kind.REAL) >= (study.target_valid or 0)


def is_known(study: Study, kind: str, external: ExternalIds) -> bool:
    """Whether somebody of this kind came to the study under the same id, where the channel lets nobody in twice."""
    channel = channel_of(study, external.channel)
    if channel is not None and channel.returns == channel.Returns.AGAIN:
        return False
    records = RecruitmentRecord.objects.of(study, kind)
    same = records.filter(source=external.source, external_id=external.id)
    return bool(external.id) and same.exists()


def ids_until(study: Study, now: datetime) -> date:
    """The last day on which the recruitment ids of who consents now are kept."""
    return (now + timedelta(days=study.external_id_days)).date()


def enroll(
    study: Study,
    *,
    kind: Callable[[], str],
    consent_sha256: str,
    key: uuid.UUID,
    now: datetime,
    external: ExternalIds = NO_EXTERNAL_IDS,
    code: str = "",
    seed: int | None = None,
    policy: str | None = None,
) -> Participant:
    """Create the participant who has just agreed to the consent text with this hash.

    `kind` is called for a new participant only, and may refuse; the same `key` again gives the same participant.
    `code` is the one that the consent page showed.
    """
    try:
        with transaction.atomic():
            if external.id:
                # Who comes twice at once is let in once
                hold("external id", study.pk, *external.who)
            known = _find(study, key)
            if known is not None:
                return known
            consent = study.consent
            if consent is None or consent.sha256 != consent_sha256:
                raise ConsentChangedError
            of_kind = kind()
            if is_known(study, of_kind, external):
                raise KnownIdError
            participant = _newcomer(study, consent, now)
            participant.enrollment_key, participant.kind = key, of_kind
            participant.policy = policy or study.policy
            participant.seed = participant.seed if seed is None else seed
            participant.give_code(code or new_code())
            participant.plan = _plan(participant)
            _begin(participant)
            _freeze_for(participant, now)
            participant.external_source = external.channel or external.source
            insert(participant)
            _keep_ids(participant, external, now)
            return participant
    except IntegrityError:
        # A copy of the form that came at the same moment was first
        known = _find(study, key)
        if known is None:
            raise
        return known


def _find(study: Study, key: uuid.UUID) -> Participant | None:
    people = Participant.objects.select_related("study")
    return people.filter(study=study, enrollment_key=key).first()


def _keep_ids(participant: Participant, external: ExternalIds, now: datetime) -> None:
    if not external.id:
        return
    record = RecruitmentRecord(
        participant=participant,
        study=participant.study,
        source=external.source,
        external_id=external.id,
        external_study_id=external.study_id,
        external_session_id=external.session_id,
        until=ids_until(participant.study, now),
    )
    insert(record)


def _newcomer(study: Study, consent: ConsentVersion, now: datetime) -> Participant:
    return Participant(
        public_id=unguessable_id(),
        study=study,
        consent_version=consent,
        consent_hash=consent.sha256,
        consented_at=now,
        last_seen_at=now,
    )


def _begin(participant: Participant) -> None:
    """On their first page."""
    asked = participant.study.demographic_fields
    participant.stage = Stage.DEMOGRAPHICS if asked else first_tried(participant)
    participant.page_reached = page_number(participant)


def first_tried(participant: Participant) -> str:
    """The page after those about oneself: questions need no practice."""
    return Stage.PRACTICE if participant.judges_abstracts else Stage.START


def _plan(participant: Participant) -> list[list[str]]:
    rng = assignment.participant_rng(participant.seed, "plan")
    plan = assignment.plan_trials(participant.study.trial_counts, rng)
    return [[trial.stratum, trial.original_side] for trial in plan]


def _freeze_for(participant: Participant, now: datetime) -> None:
    """The first real participant makes the study's first version."""
    study = participant.study
    if participant.kind == Participant.Kind.REAL and study.version == 0:
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        freeze(locked, now)
        study.version = locked.version


def may_resume(participant: Participant, now: datetime) -> bool:
    """Whether a return now goes on where the participant was."""
    seen = participant.last_seen_at
    return seen is not None and now - seen <= timedelta(hours=participant.study.resume_hours)


@transaction.atomic
def save_demographics(
    participant: Participant, answers: Mapping[str, str], now: datetime
) -> Participant:
    participant = lock(participant)
    if participant.stage not in (Stage.DEMOGRAPHICS, Stage.WITHDRAWN):
        if participant.demographics != answers:
            raise AlreadySentError
        return participant  # a copy of the same form
    require(participant, Stage.DEMOGRAPHICS)
    participant.demographics = dict(answers)
    participant.demographics_at = now
    advance(participant, first_tried(participant), now)
    update(participant, *FLOW_FIELDS, "demographics", "demographics_at")
    return participant


def practice_item(study: Study) -> Item:
    """The study's practice item; the first by key where there are several."""
    found = _practice_item(study.pk)
    if not found:
        raise assignment.NoItemLeftError(f"study {study.slug} has no practice item")
    return drawing.known_item(*found[0])


_practice_item = Prepared(
    lambda study: (
        Item.objects.drawable_in(study)
        .filter(kind=Item.Kind.PRACTICE)
        .order_by("key")
        .values_list("pk", "sha256")[:1]
    ),
    (1, 2),
)


def practice_side(participant: Participant) -> assignment.Side:
    """The side of the original in this participant's practice trial."""
    return assignment.participant_rng(participant.seed, "practice").choice(assignment.SIDES)


@transaction.atomic
def attempt_practice(participant: Participant, side: str, now: datetime) -> Participant:
    """Answer the practice trial; on to the start page if the choice was right."""
    participant = lock(participant)
    right = side == practice_side(participant)
    if right and participant.stage in (Stage.START, Stage.TRIAL) and participant.started_at is None:
        return participant  # a copy of the same form
    require(participant, Stage.PRACTICE)
    participant.practice_attempts += 1
    if right:
        advance(participant, Stage.START, now)
    update(participant, *FLOW_FIELDS, "practice_attempts")
    return participant


@transaction.atomic
def start_trials(participant: Participant, now: datetime) -> Participant:
    """Go on from the start page to the first trial; a copy of the form changes nothing."""
    participant = lock(participant)
    if participant.stage == Stage.TRIAL and participant.position == 1:
        return participant
    require(participant, Stage.START)
    advance(participant, Stage.TRIAL, now)
    update(participant, *FLOW_FIELDS)
    return participant


def touch(participant: Participant, now: datetime) -> None:
    """Note that the participant's page is open."""
    here = Participant.objects.filter(pk=participant.pk, left_at=None)
    if not here.filter(last_seen_at__lt=now).update(last_seen_at=now) and not here.exists():
        _return(participant, now)


@transaction.atomic
def _return(participant: Participant, now: datetime) -> None:
    """Who was taken for having left is there again."""
    back = lock(participant)
    back.last_seen_at = max(back.last_seen_at or now, now)
    update(back, "last_seen_at")


def is_shown(participant: Participant, position: int) -> bool:
    """Whether the participant is on this trial's page and it was drawn."""
    on_page = participant.stage == Stage.TRIAL and participant.position == position
    return on_page and participant.trials.filter(position=position).exists()


def show_trial(participant: Participant, position: int, now: datetime) -> Trial:
    """The trial at this position, drawn now if it was not shown before."""
    # Who has left holds no item
    sweep_if_due(participant.study, participant.kind, now)
    return _lock_and_show(participant, position, now)


@drawing.until_drawn
def _lock_and_show(participant: Participant, position: int, now: datetime) -> Trial:
    locked = lock(participant)
    return show(locked, trials_met(locked), position, now)


def trials_met(participant: Participant) -> list[Trial]:
    """What the participant was given, with the judgments: what a draw, a page and an answer need of them."""
    trials = _trials_met(participant.pk)
    for trial in trials:
        trial.participant = participant
    return trials


_trials_met = Prepared(
    lambda pk: (
        Trial.objects.filter(participant=pk)
        .select_related("item", "judgment")
        .only(*OF_MET)
        .order_by("position")
    ),
    (1, 2),
)


def show(participant: Participant, met: Sequence[Trial], position: int, now: datetime) -> Trial:
    """As `show_trial`, of a participant who is locked and has met these trials."""
    require(participant, Stage.TRIAL, position)
    trial = next((trial for trial in met if trial.position == position), None)
    if trial is None:
        trial = _draw(participant, position, met, now)
    else:
        trial.item = drawing.known_item(trial.item_id, trial.item.sha256)
    if trial.shown_at is None:
        trial.shown_at = now
        update(trial, "shown_at")
    seen = participant.last_seen_at
    if participant.started_at is None or seen is None or now - seen >= SEEN_EVERY:
        participant.started_at = participant.started_at or now
        participant.last_seen_at = max(seen or now, now)
        update(participant, "started_at", "last_seen_at")
    return trial


def _draw(participant: Participant, position: int, met: Sequence[Trial], now: datetime) -> Trial:
    if participant.policy == Study.Policy.PAPER:
        drawing.draw_all(participant, now)
        return participant.trials.select_related("item").get(position=position)
    return drawing.draw(participant, position, drawing.Met.of(met), now, shown_at=now)
