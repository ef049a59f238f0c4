"""A person enters a study and gets trials."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db import transaction

from experiment.domain import assignment
from experiment.models import Item, Participant, Study, Trial, work_name
from experiment.services.exposure import (
    assigned_counts,
    dropout_counts,
    held_items,
    valid_exposures,
)
from experiment.services.flow import (
    AlreadySentError,
    ConsentChangedError,
    KnownIdError,
    NotOpenError,
    Refusal,
    advance,
    lock,
    n_pages,
    require,
)
from experiment.services.study_versions import freeze

Stage = Participant.Stage


@dataclass(frozen=True, slots=True)
class ExternalIds:
    """Who the participant is at the place that recruited them; all empty for a plain link."""

    source: str = ""
    id: str = ""
    study_id: str = ""
    session_id: str = ""

    @property
    def who(self) -> tuple[str, str]:
        return self.source, self.id


NO_EXTERNAL_IDS = ExternalIds()


def entry_kind(study: Study, *, is_member: bool) -> str:
    """The kind of participant that would enter now.

    Raises NotOpenError where the study takes no new participants.
    """
    recruitment = Study.Recruitment(study.recruitment)
    if recruitment == Study.Recruitment.OPEN:
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
    return Participant.objects.of(study, Participant.Kind.REAL).valid().count() >= (
        study.target_valid or 0
    )


def is_known(study: Study, kind: str, external: ExternalIds) -> bool:
    """Whether somebody of this kind came to the study under the same id: nobody takes part twice."""
    people = Participant.objects.of(study, kind)
    same = people.filter(external_source=external.source, external_id=external.id)
    return bool(external.id) and same.exists()


def ids_until(study: Study, now: datetime) -> date:
    """The last day on which the recruitment ids of who consents now are kept."""
    return (now + timedelta(days=study.external_id_days)).date()


@transaction.atomic
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
    # Serialises copies of one form; participants' own rows do not exist yet.
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    people = Participant.objects.select_related("study")
    known: Participant | None = people.filter(study=study, enrollment_key=key).first()
    if known is not None:
        return known
    consent = study.consent
    if consent is None or consent.sha256 != consent_sha256:
        raise ConsentChangedError
    of_kind = kind()
    if is_known(study, of_kind, external):
        raise KnownIdError
    participant = Participant(
        study=study,
        enrollment_key=key,
        kind=of_kind,
        policy=policy or study.policy,
        consent_version=consent,
        consent_hash=consent.sha256,
        consented_at=now,
        last_seen_at=now,
        external_source=external.source,
        external_id=external.id,
        external_study_id=external.study_id,
        external_session_id=external.session_id,
        external_ids_until=ids_until(study, now) if external.id else None,
        stage=Stage.DEMOGRAPHICS if study.demographic_fields else Stage.PRACTICE,
    )
    if seed is not None:
        participant.seed = seed
    if code:
        participant.withdrawal_code = code
    plan = assignment.plan_trials(
        study.trial_counts, assignment.participant_rng(participant.seed, "plan")
    )
    participant.plan = [[trial.stratum, trial.original_side] for trial in plan]
    participant.page_reached = 0 if study.demographic_fields else 1
    if participant.kind == Participant.Kind.REAL:
        freeze(study, now)
    participant.save()
    return participant


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
    advance(participant, Stage.PRACTICE, now)
    participant.save()
    return participant


def practice_item(study: Study) -> Item:
    """The study's practice item; the first by key where there are several."""
    items = study.accepted_items.filter(kind=Item.Kind.PRACTICE)
    item = items.order_by("key").first()
    if item is None:
        raise assignment.NoItemLeftError(f"study {study.slug} has no practice item")
    return item


def practice_side(participant: Participant) -> assignment.Side:
    """The side of the original in this participant's practice trial."""
    return assignment.participant_rng(participant.seed, "practice").choice(assignment.SIDES)


@transaction.atomic
def attempt_practice(participant: Participant, side: str, now: datetime) -> bool:
    """Answer the practice trial; True, and on to the start page, if the choice was right."""
    participant = lock(participant)
    right = side == practice_side(participant)
    if right and participant.stage in (Stage.START, Stage.TRIAL) and participant.started_at is None:
        return True  # a copy of the same form
    require(participant, Stage.PRACTICE)
    participant.practice_attempts += 1
    if right:
        advance(participant, Stage.START, now)
    participant.save()
    return right


@transaction.atomic
def start_trials(participant: Participant, now: datetime) -> Participant:
    """Go on from the start page to the first trial; a copy of the form changes nothing."""
    participant = lock(participant)
    if participant.stage == Stage.TRIAL and participant.position == 1:
        return participant
    require(participant, Stage.START)
    advance(participant, Stage.TRIAL, now)
    participant.save()
    return participant


def touch(participant: Participant, now: datetime) -> None:
    """Note that the participant's page is open."""
    Participant.objects.filter(pk=participant.pk, last_seen_at__lt=now).update(last_seen_at=now)


def is_shown(participant: Participant, position: int) -> bool:
    """Whether the participant is on this trial's page and it was drawn."""
    on_page = participant.stage == Stage.TRIAL and participant.position == position
    return on_page and participant.trials.filter(position=position).exists()


@transaction.atomic
def show_trial(participant: Participant, position: int, now: datetime) -> Trial:
    """The trial at this position, drawn now if it was not shown before."""
    participant = lock(participant)
    require(participant, Stage.TRIAL, position)
    met = list(participant.trials.select_related("item").defer("draw"))
    trial = next((trial for trial in met if trial.position == position), None)
    if trial is None:
        trial = _draw(participant, position, met, now)
    if trial.shown_at is None:
        trial.shown_at = now
        trial.save(update_fields=["shown_at"])
    participant.started_at = participant.started_at or now
    participant.last_seen_at = max(participant.last_seen_at or now, now)
    participant.save(update_fields=["started_at", "last_seen_at"])
    return trial


def _draw(participant: Participant, position: int, met: list[Trial], now: datetime) -> Trial:
    # One blocking lock per draw, held for the reads and the insert below; on SQLite the transaction is
    # IMMEDIATE and has the lock already. NO KEY: new participants, who refer to the study, need not wait.
    study = participant.study
    Study.objects.select_for_update(no_key=True).values_list("pk").get(pk=study.pk)
    if participant.policy == Study.Policy.BALANCED:
        return _draw_one(study, participant, position, met, now, shown_at=now)
    # The paper's host assigned all abstracts at once, and counted them as used.
    for at in range(1, participant.n_trials + 1):
        met.append(_draw_one(study, participant, at, met, now))
    return met[position - 1]


def _draw_one(
    study: Study,
    participant: Participant,
    position: int,
    met: list[Trial],
    now: datetime,
    shown_at: datetime | None = None,
) -> Trial:
    stratum, original_side = participant.plan[position - 1]
    # Tuples, not instances: the pool has hundreds of rows, and the lock is held.
    pool = study.accepted_items.of_stratum(stratum).order_by("pk").values_list("pk", "doi", "key")
    works = {pk: work_name(doi, key) for pk, doi, key in pool}
    scores = item_scores(study, participant.kind, list(works), participant.policy, now)
    draw = assignment.draw_item(
        [assignment.Candidate(pk, works[pk], score) for pk, score in scores.items()],
        {trial.item.work for trial in met},
        {trial.item_id for trial in met},
        assignment.rng_key(participant.seed, "draw", position),
    )
    return Trial.objects.create(
        participant=participant,
        position=position,
        stratum=stratum,
        item_id=draw.item_id,
        original_side=original_side,
        drawn_at=now,
        shown_at=shown_at,
        draw={"policy": participant.policy, "key": draw.rng_key, "scores": draw.scores},
    )


def item_scores(
    study: Study, kind: str, item_ids: list[int], policy: str, now: datetime
) -> dict[int, float]:
    """Score of every item: expected exposure, or under the paper's policy how often it was assigned."""
    if policy == Study.Policy.PAPER:
        assigned = assigned_counts(study, kind)
        return {pk: float(assigned.get(pk, 0)) for pk in item_ids}
    valid = valid_exposures(study, kind)
    dropout = dropout_counts(study, kind, now)
    # Sessions begun under another number of trials may hold a page beyond this study's last.
    held = held_items(study, kind, now)
    pages = {*range(n_pages(study.n_trials)), *(page for _, page, _ in held)}
    chances = assignment.finish_chances(dropout.left_at, dropout.finished, pages)
    return assignment.expected_exposures({pk: valid.get(pk, 0) for pk in item_ids}, held, chances)


def replay_draw(trial: Trial) -> int:
    """The item that the logged scores and key give: always the one that was shown."""
    scores = {int(pk): score for pk, score in trial.draw["scores"].items()}
    return assignment.choose_lowest(scores, trial.draw["key"])
