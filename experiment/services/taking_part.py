"""The way of a participant, page by page: about themselves, the practice, the trials, each shown and answered, and the end."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from experiment.domain import assignment
from experiment.domain.assignment import QUESTION, NoItemLeftError
from experiment.domain.cells import cell_of
from experiment.models import (
    AdvisedTrial,
    Item,
    Judgment,
    Participant,
    Study,
    SurveyAnswer,
    SurveyQuestion,
    Trial,
    WrittenAnswer,
)
from experiment.models.trials import server_ms
from experiment.services import advised, arms, arrivals, drawing
from experiment.services.drawing import show, trials_met, until_drawn
from experiment.services.exclusions import apply_exclusions
from experiment.services.flow import (
    FLOW_FIELDS,
    AlreadyAnsweredError,
    AlreadySentError,
    ForeignTrialError,
    GroupFullError,
    TooSoonError,
    WrongPageError,
    advance,
    after_demographics,
    after_trials,
    first_tried,
    lock,
    require,
)
from experiment.services.survey import answers_given, asked
from lib.fast.prepared import Prepared

Stage, Place = Participant.Stage, SurveyQuestion.Place


def save_demographics(
    participant: Participant, answers: Mapping[str, str], now: datetime
) -> Participant:
    """Store what somebody says about themselves, and go on.

    Raises:
        GroupFullError: enough people with their answer took part; what they said is not stored.
    """
    participant = _save_demographics(participant, answers, now)
    if participant.screened_out_at is not None:
        raise GroupFullError(participant)
    return participant


@transaction.atomic
def _save_demographics(
    participant: Participant, answers: Mapping[str, str], now: datetime
) -> Participant:
    participant = lock(participant)
    if participant.screened_out_at is not None:
        return participant  # whatever they say now
    if participant.stage not in (Stage.DEMOGRAPHICS, Stage.WITHDRAWN):
        if participant.demographics != answers:
            raise AlreadySentError
        return participant  # a copy of the same form
    require(participant, Stage.DEMOGRAPHICS)
    in_cell: tuple[str, ...] = ()
    if participant.study.forms_cells:
        participant.cell = cell_of(participant.study.cell_field, answers)
        if not arms.assign(participant, now):
            participant.screened_out_at = now
            participant.save(update_fields=["screened_out_at"])
            return participant
        in_cell = ("cell", *arms.ASSIGNED)
    participant.demographics = dict(answers)
    participant.demographics_at = now
    advance(participant, after_demographics(participant), now)
    participant.save(update_fields=[*FLOW_FIELDS, *in_cell, "demographics", "demographics_at"])
    return participant


# Pages of survey questions: their stage, and the stages of who has sent them
SURVEYS = {
    Place.BEFORE: (
        Stage.SURVEY_BEFORE,
        {*Stage} - {Stage.DEMOGRAPHICS, Stage.SURVEY_BEFORE, Stage.WITHDRAWN},
    ),
    Place.AFTER: (Stage.SURVEY_AFTER, {Stage.DEBRIEF, Stage.FINISHED}),
}


@transaction.atomic
def save_survey(
    participant: Participant, place: SurveyQuestion.Place, answers: Mapping[str, str], now: datetime
) -> Participant:
    """Store a page of survey questions, by their names; an empty text is no answer."""
    participant = lock(participant)
    stage, later = SURVEYS[place]
    given = {name: value for name, value in answers.items() if value}
    if participant.stage in later:
        if answers_given(participant, place) != given:
            raise AlreadySentError
        return participant  # a copy of the same form
    require(participant, stage)
    for question in asked(participant, place):
        if value := given.get(question.name):
            SurveyAnswer(
                participant=participant, question=question, value=value, received_at=now
            ).save(force_insert=True)
    if place == Place.BEFORE:
        advance(participant, first_tried(participant), now)
    else:
        _go_to_debrief(participant, now)
    participant.save(update_fields=[*FLOW_FIELDS, "debriefed_at"])
    return participant


def _go_to_debrief(participant: Participant, now: datetime) -> None:
    advance(participant, Stage.DEBRIEF, now, participant.position)
    participant.debriefed_at = now


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
    """Answer the practice trial for good; on to the start page if the choice was right."""
    participant = lock(participant)
    right = side == practice_side(participant)
    if right and participant.stage in (Stage.START, Stage.TRIAL) and participant.started_at is None:
        return participant  # a copy of the same form
    require(participant, Stage.PRACTICE)
    participant.practice_attempts += 1
    if right:
        participant.practice_first = None
        advance(participant, Stage.START, now)
    participant.save(update_fields=[*FLOW_FIELDS, "practice_attempts", "practice_first"])
    return participant


@transaction.atomic
def start_trials(participant: Participant, now: datetime) -> Participant:
    """Go on from the start page to the first trial; a copy of the form changes nothing."""
    participant = lock(participant)
    if participant.stage == Stage.TRIAL and participant.position == 1:
        return participant
    require(participant, Stage.START)
    advance(participant, Stage.TRIAL, now)
    participant.save(update_fields=FLOW_FIELDS)
    return participant


def touch(participant: Participant, now: datetime) -> None:
    """Note that the participant's page is open."""
    here = Participant.objects.filter(pk=participant.pk, left_at=None)
    seen = {"last_seen_at": now, "place_until": arrivals.kept_open(participant, now)}
    if not here.filter(last_seen_at__lt=now).update(**seen) and not here.exists():
        _return(participant, now)


@transaction.atomic
def _return(participant: Participant, now: datetime) -> None:
    """Counts a participant as present again who was taken for having left."""
    back = lock(participant)
    back.last_seen_at = max(back.last_seen_at or now, now)
    back.save(update_fields=["last_seen_at"])


def is_shown(participant: Participant, position: int) -> bool:
    """True if the participant is on this trial's page and it was drawn."""
    on_page = participant.stage == Stage.TRIAL and participant.position == position
    return on_page and participant.trials.filter(position=position).exists()


@dataclass(frozen=True, slots=True)
class Answer:
    """A participant's answer in one trial; None is "not given" or, for measures, "no JavaScript", of `translated` "".

    To a question, `side` is "": what was written is in `Sent`.
    """

    side: str
    confidence: int | None = None
    expertise: int | None = None
    confidence_moved: bool = False
    expertise_moved: bool = False
    recognised: bool | None = None
    rt_choice_ms: int | None = None
    rt_final_choice_ms: int | None = None
    rt_ms: int | None = None
    confidence_first_ms: int | None = None
    confidence_last_ms: int | None = None
    expertise_first_ms: int | None = None
    expertise_last_ms: int | None = None
    changes: int | None = None
    aid_switches: int | None = None
    blur_count: int | None = None
    hidden_ms: int | None = None
    reloads: int | None = None
    viewport_width: int | None = None
    viewport_height: int | None = None
    translated: str = ""


_NAMES = tuple(Answer.__dataclass_fields__)
MEASURED = _NAMES[_NAMES.index("rt_choice_ms") :]  # what the page measured by itself


@transaction.atomic
def practise(
    participant: Participant, answer: Answer, now: datetime, *, key: uuid.UUID, revises: bool
) -> Participant:
    """Answer the practice trial as its page does: where an example of advice follows, first on one's own, as in `judge`."""
    participant = lock(participant)
    first = participant.practice_first
    if participant.stage == Stage.PRACTICE and revises and first is None:
        raise WrongPageError
    if participant.stage != Stage.PRACTICE or revises or not advised.practice_follows(participant):
        return attempt_practice(participant, answer.side, now)
    if first is None:
        own = {"side": answer.side, "confidence": answer.confidence}
        participant.practice_first = own | {"key": str(key)}
        advance(participant, Stage.PRACTICE, now)
        participant.save(update_fields=[*FLOW_FIELDS, "practice_first"])
    elif first["key"] != str(key):
        raise AlreadyAnsweredError
    return participant


@dataclass(frozen=True, slots=True)
class Written:
    """An answer in a participant's own words, or "I do not know" without any; times as those of `Answer`."""

    text: str = ""
    abstained: bool = False
    first_ms: int | None = None
    last_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """An answer as it arrived: for which trial, by position and token; `key` is the same when it is sent again.

    written: the answer to a question; None to anything else. revises: it was given on the page that shows advice after an
    answer of one's own, whose token is that page's.
    """

    position: int
    token: uuid.UUID
    key: uuid.UUID
    answer: Answer
    received_at: datetime
    written: Written | None = None
    revises: bool = False


@transaction.atomic
def judge(participant: Participant, sent: Sent) -> Judgment | AdvisedTrial:
    """Store an answer exactly once; the same key again returns what is stored.

    An answer that advice follows is the first of an advised trial, and its judgment is still to come. The participant as
    they are now is the `trial.participant` of what is returned.
    """
    locked = lock(participant)
    return _judge(locked, trials_met(locked), sent)


@until_drawn
def judge_and_show(participant: Participant, sent: Sent) -> tuple[Participant, Trial | None]:
    """Store an answer as `judge` does, and show the trial that comes next, if one does; in one transaction.

    The answer is stored all the same where no item is left to be shown. The page sweeps before, as for `show_trial`.
    """
    participant = lock(participant)
    met = trials_met(participant)
    _judge(participant, met, sent)
    if participant.stage != Stage.TRIAL:
        return participant, None
    try:
        return participant, show(participant, met, sent.received_at)
    except NoItemLeftError:
        return participant, None


def _judge(participant: Participant, met: Sequence[Trial], sent: Sent) -> Judgment | AdvisedTrial:
    given = advised.given_to(participant)
    second = next((row for row in given.values() if row.token == sent.token), None)
    trial = _trial_of(participant, met, sent, second)
    stored, key = _stored(trial, None if second else given.get(trial.pk))
    if stored is not None:
        if key == sent.key:
            return stored
        raise AlreadyAnsweredError
    require(participant, Stage.TRIAL, sent.position)
    if sent.revises != (second is not None):
        raise WrongPageError
    if (trial.stratum == QUESTION) == (sent.written is None):
        raise ValueError("a written answer is to a question, and to nothing else")
    # The time on the server since the trial was first shown; a simulated participant's is made up, as is what it sends
    is_simulated = participant.kind == Participant.Kind.SIMULATED
    passed_ms = None if is_simulated else server_ms(trial.shown_at, sent.received_at)
    if second is None:
        if _is_too_soon(participant, sent, passed_ms):
            raise TooSoonError
        arrivals.go_on(participant, trial.stratum, passed_ms)
    answer = asdict(sent.answer)
    if second is not None:
        answer = advised.whole_answer(second, answer)
    elif advice := advised.advice_for(participant, trial, AdvisedTrial.Procedure.AFTER):
        advance(participant, Stage.TRIAL, sent.received_at, sent.position)
        participant.save(update_fields=FLOW_FIELDS)
        return advised.store_first(trial, advice, answer, sent.key, sent.received_at, passed_ms)
    if row := given.get(trial.pk):
        row.viewed_ms = sent.answer.rt_ms
        row.save(update_fields=["viewed_ms"])
    return _store(participant, trial, sent, answer, passed_ms)


def _trial_of(
    participant: Participant, met: Sequence[Trial], sent: Sent, second: AdvisedTrial | None
) -> Trial:
    """The trial whose page, or page with advice, was sent."""
    pk = None if second is None else second.trial_id
    trial = next((trial for trial in met if trial.token == sent.token or trial.pk == pk), None)
    if trial is None and participant.stage != Stage.WITHDRAWN:
        raise ForeignTrialError
    if trial is None or trial.position != sent.position:
        raise WrongPageError
    return trial


def _stored(
    trial: Trial, first: AdvisedTrial | None
) -> tuple[Judgment | AdvisedTrial | None, uuid.UUID | None]:
    """The answer to the page that was sent, with its key: the first of a trial whose advice follows it, or else the judgment."""
    if first is not None and first.procedure == AdvisedTrial.Procedure.AFTER:
        first.trial = trial
        return first, first.first_key
    if hasattr(trial, "judgment"):
        return trial.judgment, trial.judgment.idempotency_key
    return None, None


def _is_too_soon(participant: Participant, sent: Sent, passed_ms: int | None) -> bool:
    if passed_ms is None or (sent.written is not None and sent.written.abstained):
        return False
    return passed_ms < 1000 * participant.study.min_page_s


def _store(
    participant: Participant,
    trial: Trial,
    sent: Sent,
    answer: Mapping[str, Any],
    passed_ms: int | None,
) -> Judgment:
    """Store the answer that stands, and go on to the next page."""
    now = sent.received_at
    judgment = Judgment(
        trial=trial,
        idempotency_key=sent.key,
        correct=None if sent.written is not None else answer["side"] == trial.original_side,
        received_at=now,
        server_ms=passed_ms,
        **answer,
    )
    judgment.save(force_insert=True)
    if sent.written is not None:
        WrittenAnswer(judgment=judgment, **asdict(sent.written)).save(force_insert=True)
    if sent.position < participant.n_trials:
        advance(participant, Stage.TRIAL, now, sent.position + 1)
    elif (then := after_trials(participant)) == Stage.DEBRIEF:
        _go_to_debrief(participant, now)
    else:
        advance(participant, then, now, sent.position)
    participant.save(update_fields=[*FLOW_FIELDS, "debriefed_at"])
    return judgment


@transaction.atomic
def finish(participant: Participant, *, cheated: bool, comments: str, now: datetime) -> Participant:
    """The debrief was sent: the session is complete. Sending the same again changes nothing."""
    participant = lock(participant)
    if participant.stage == Stage.FINISHED:
        if (participant.cheated, participant.comments) != (cheated, comments):
            raise AlreadySentError
        return participant
    require(participant, Stage.DEBRIEF)
    participant.cheated, participant.comments, participant.finished_at = cheated, comments, now
    advance(participant, Stage.FINISHED, now, participant.position)
    participant.save(update_fields=[*FLOW_FIELDS, "cheated", "comments", "finished_at"])
    apply_exclusions(participant)
    return participant
