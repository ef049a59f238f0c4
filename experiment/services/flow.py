"""The state machine: which page a participant is on, and what may happen there."""

from datetime import datetime
from enum import StrEnum

from experiment.models import Participant, SurveyQuestion
from experiment.services import arrivals
from experiment.services.counting import come_back
from experiment.services.survey import asked
from lib.fast.prepared import Prepared


class Refusal(StrEnum):
    """Why an action is refused; experiment.services.problem_words.py has the words of each."""

    ANOTHER_PAGE = "another_page"
    ALREADY_ANSWERED = "already_answered"
    ALREADY_SENT = "already_sent"
    FOREIGN_TRIAL = "foreign_trial"
    CONSENT_CHANGED = "consent_changed"
    KNOWN_ID = "known_id"
    UNFILLED_LINK = "unfilled_link"
    STUDY_FULL = "study_full"
    GROUP_FULL = "group_full"
    STUDY_ENDED = "study_ended"
    STUDY_NOT_STARTED = "study_not_started"


class FlowError(Exception):
    """An action that the participant's state does not allow."""

    refusal = Refusal.ANOTHER_PAGE


class WrongPageError(FlowError):
    """The participant is on another page: one skipped ahead, or a stale tab."""


class AlreadyAnsweredError(FlowError):
    """The trial has an answer; another one came."""

    refusal = Refusal.ALREADY_ANSWERED


class AlreadySentError(AlreadyAnsweredError):
    """A page that is sent once came again with something else in it."""

    refusal = Refusal.ALREADY_SENT


class TooSoonError(FlowError):
    """The study asks for more time to read the trial; the answer is not stored, and its page offers it again."""


class ForeignTrialError(FlowError):
    """The trial belongs to another participant."""

    refusal = Refusal.FOREIGN_TRIAL


class ConsentChangedError(FlowError):
    """The consent text changed between reading and agreeing."""

    refusal = Refusal.CONSENT_CHANGED


class KnownIdError(FlowError):
    """Somebody takes part, or took part, under this id of the recruitment site."""

    refusal = Refusal.KNOWN_ID


class UnfilledLinkError(FlowError):
    """The entry link has a placeholder, or nothing, where the recruitment site puts an id."""

    refusal = Refusal.UNFILLED_LINK

    def __init__(self, parameter: str) -> None:
        self.parameter = parameter
        super().__init__(parameter)


class GroupFullError(FlowError):
    """Enough people with the participant's answer took part."""

    refusal = Refusal.GROUP_FULL

    def __init__(self, participant: Participant) -> None:
        self.participant = participant
        super().__init__(participant)


class NotOpenError(FlowError):
    """The study takes no new participants."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(refusal)


_locked = Prepared(
    lambda pk: Participant.objects.select_for_update(no_key=True).filter(pk=pk), (1, 2)
)


def lock(participant: Participant) -> Participant:
    """The participant's row, fresh and locked until the transaction ends (SQLite locks the database)."""
    (locked,) = _locked(participant.pk)
    # The study was read with this request; nothing below depends on a fresher one
    locked.study = participant.study
    # Who is in a group gets another arm with what they say of themselves, perhaps in another tab
    if locked.arm_id is not None and locked.arm_id == participant.arm_id:
        locked.arm = participant.arm
    if locked.left_at is not None and not locked.has_ended:
        come_back(locked)
    return locked


def require(participant: Participant, stage: str, position: int | None = None) -> None:
    """Raise WrongPageError unless the participant is there."""
    if (participant.stage, participant.trial_position) != (stage, position):
        raise WrongPageError


# What `advance` changes
FLOW_FIELDS = ("stage", "position", "page_reached", "last_seen_at", "place_until")


def advance(participant: Participant, stage: str, now: datetime, position: int = 1) -> None:
    """Move the (locked) participant to a page; the caller saves."""
    participant.stage, participant.position = stage, position
    participant.page_reached = max(participant.page_reached, participant.page_number)
    participant.last_seen_at = max(participant.last_seen_at or now, now)
    arrivals.keep_place(participant, now)


def first_tried(participant: Participant) -> str:
    """The page after those about oneself: questions need no practice."""
    stage = Participant.Stage
    return stage.PRACTICE if participant.judges_abstracts else stage.START


def after_demographics(participant: Participant) -> str:
    """The page with survey questions, where this participant is asked any."""
    is_asked = asked(participant, SurveyQuestion.Place.BEFORE)
    return Participant.Stage.SURVEY_BEFORE if is_asked else first_tried(participant)


def after_trials(participant: Participant) -> str:
    is_asked = asked(participant, SurveyQuestion.Place.AFTER)
    return Participant.Stage.SURVEY_AFTER if is_asked else Participant.Stage.DEBRIEF
