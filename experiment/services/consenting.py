"""A person enters a study, or comes back to it without their cookie."""

import uuid
from collections.abc import Callable
from datetime import date, datetime, timedelta

from django.db import IntegrityError, transaction

from experiment.domain.withdrawal_code import new_code
from experiment.models import (
    AuditEvent,
    Channel,
    Participant,
    RecruitmentRecord,
    Study,
)
from experiment.models.participants import new_seed
from experiment.services import arms, arrivals
from experiment.services.audit import Action
from experiment.services.channels import NO_EXTERNAL_IDS, ExternalIds, channel_of
from experiment.services.flow import (
    ConsentChangedError,
    KnownIdError,
    NotOpenError,
    Refusal,
    after_demographics,
)
from experiment.services.study_versions import freeze
from lib.locks import hold
from lib.unguessable import unguessable_id

Stage = Participant.Stage


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
        if is_full(study, now):
            raise NotOpenError(Refusal.STUDY_FULL)
        # A member who looks at the running study must not end up in its data.
        return Participant.Kind.PILOT if is_member else Participant.Kind.REAL
    if recruitment == Study.Recruitment.CLOSED:
        raise NotOpenError(Refusal.STUDY_ENDED)
    if recruitment == Study.Recruitment.PILOT or is_member:
        return Participant.Kind.PILOT
    raise NotOpenError(Refusal.STUDY_NOT_STARTED)


def was_opened(study: Study) -> bool:
    """True if anybody but its members could know of the study: a draft that went back to one was open to those who return."""
    if study.recruitment != Study.Recruitment.DRAFT or study.version:
        return True
    return AuditEvent.objects.filter(study=study.slug, action=Action.RECRUITMENT).exists()


def is_full(study: Study, now: datetime) -> bool:
    """True if enough valid participants finished; in a study with arms, as `ArmDraw.is_full` says."""
    if (wanted := study.target_valid) is None:
        return False
    return arms.read(study, Participant.Kind.REAL, now).admits(study, wanted) is None


TURNED_AWAY_EVERY = timedelta(minutes=1)


def note_turned_away(study: Study, now: datetime) -> None:
    """The study was full for a visitor, of whom nothing is kept."""
    last = study.turned_away_at
    if last is None or abs(now - last) >= TURNED_AWAY_EVERY:
        Study.objects.filter(pk=study.pk).update(turned_away_at=now)


def is_known(study: Study, kind: str, external: ExternalIds) -> bool:
    """True if somebody of this kind came to the study under the same id, where the channel lets nobody in twice."""
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
    address: str = "",
    seed: int | None = None,
    policy: str | None = None,
) -> Participant:
    """Create the participant who has just agreed to the consent text with this hash.

    `kind` is called for a new participant only, and may refuse; the same `key` again gives the same participant.
    `code` is the one that the consent page showed; `address` is where the form came from, which is not stored. Raises NotOpenError where others took the last places meanwhile.
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
            participant = Participant(
                public_id=unguessable_id(),
                study=study,
                consent_version=consent,
                consent_hash=consent.sha256,
                consented_at=now,
                last_seen_at=now,
                enrollment_key=key,
                kind=of_kind,
                policy=policy or study.policy,
                seed=new_seed() if seed is None else seed,
            )
            participant.give_code(code or new_code())
            _freeze_for(participant, now)
            if address and of_kind == Participant.Kind.REAL:
                arrivals.give_place(participant, address, now, by_link=bool(external.id))
            if not arms.assign(participant, now):
                raise NotOpenError(Refusal.STUDY_FULL)
            # On their first page
            asked = study.demographic_fields
            participant.stage = Stage.DEMOGRAPHICS if asked else after_demographics(participant)
            participant.page_reached = participant.page_number
            participant.external_source = external.channel or external.source
            participant.save(force_insert=True)
            if external.id:
                record = RecruitmentRecord(
                    participant=participant,
                    study=study,
                    source=external.source,
                    external_id=external.id,
                    external_study_id=external.study_id,
                    external_session_id=external.session_id,
                    until=ids_until(study, now),
                )
                record.save(force_insert=True)
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


def _freeze_for(participant: Participant, now: datetime) -> None:
    """The first real participant makes the study's first version."""
    study = participant.study
    if participant.kind == Participant.Kind.REAL and study.version == 0:
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        freeze(locked, now)
        study.version = locked.version


def find_by_code(study: Study, code: str) -> Participant | None:
    """The participant whose own code this is; 59 random bits, so that nobody guesses one."""
    people = Participant.objects.filter(study=study).select_related("study", "consent_version")
    return people.with_code(code).first()


def find_by_link(study: Study, external: ExternalIds) -> Participant | None:
    """The participant who began with a link of the same session at the recruitment site, where the channel lets them go on so.

    The id alone is no proof: it stands in addresses, and other studies' researchers know it. A session's id is
    new for each submission and is known to the participant, the site and this study. Where it is the id again, it is not.
    """
    channel = channel_of(study, external.channel)
    policy = Channel.Returns.RESUME if channel is None else channel.returns
    if policy != Channel.Returns.RESUME or not (external.id and external.session_id):
        return None
    if external.session_id == external.id:
        return None
    people = Participant.objects.filter(study=study).select_related("study", "consent_version")
    same = people.filter(
        recruitment__source=external.source,
        recruitment__external_id=external.id,
        recruitment__external_session_id=external.session_id,
    )
    return same.order_by("-pk").first()
