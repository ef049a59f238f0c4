"""The state machine: which page a participant is on, and what may happen there."""

from dataclasses import dataclass
from datetime import datetime

from experiment.models import Participant

FIRST_TRIAL_PAGE = 2


class FlowError(Exception):
    """An action that the participant's state does not allow. Pages show `message`."""

    message = "This page is not open to you at the moment."


class WrongPageError(FlowError):
    """The participant is on another page: one skipped ahead, or a stale tab."""

    message = "You are already further on, or not yet here. Nothing was lost: please go on where you were."


class AlreadyAnsweredError(FlowError):
    """The trial has an answer; another one came."""

    message = "This abstract has already been answered, perhaps in another tab. Your first answer is stored."


class AlreadySentError(AlreadyAnsweredError):
    """A page that is sent once came again with something else in it."""

    message = "This page was sent before, perhaps from another tab. What you sent first is stored."


class ForeignTrialError(FlowError):
    """The trial belongs to somebody else."""

    message = "This page belongs to another participant."


class NotOpenError(FlowError):
    """The study takes nobody new."""

    def __init__(self, title: str, message: str) -> None:
        self.title, self.message = title, message
        super().__init__(message)


class ConsentChangedError(FlowError):
    """The consent text changed between reading and agreeing."""

    message = "The consent text has changed since you opened the page. Please read it again."


@dataclass(frozen=True, slots=True)
class Page:
    """Where a participant is: the stage, and the position within the trials."""

    stage: str
    position: int | None = None


def current_page(participant: Participant) -> Page:
    if participant.stage == Participant.Stage.TRIAL:
        return Page(participant.stage, participant.position)
    return Page(participant.stage)


def page_number(participant: Participant) -> int:
    """Pages in order, from 0: demographics, practice, the trials, debrief, the end."""
    stage = Participant.Stage
    return {
        stage.DEMOGRAPHICS: 0,
        stage.PRACTICE: 1,
        stage.TRIAL: FIRST_TRIAL_PAGE + participant.position - 1,
        stage.DEBRIEF: FIRST_TRIAL_PAGE + participant.n_trials,
        stage.FINISHED: FIRST_TRIAL_PAGE + participant.n_trials + 1,
    }[stage(participant.stage)]


def n_pages(n_trials: int) -> int:
    """Pages a participant can be on without having finished."""
    return FIRST_TRIAL_PAGE + n_trials + 1


def lock(participant: Participant) -> Participant:
    """The participant's row, fresh and locked until the transaction ends (SQLite locks the database)."""
    locked = Participant.objects.select_for_update(no_key=True).get(pk=participant.pk)
    locked.study = (
        participant.study
    )  # read with this request; nothing below depends on its being fresher
    return locked


def require(participant: Participant, stage: str, position: int | None = None) -> None:
    """Raise WrongPageError unless the participant is there."""
    if current_page(participant) != Page(stage, position):
        raise WrongPageError


def advance(participant: Participant, stage: str, now: datetime, position: int = 1) -> None:
    """Move the (locked) participant to a page; the caller saves."""
    participant.stage, participant.position = stage, position
    participant.page_reached = max(participant.page_reached, page_number(participant))
    participant.last_seen_at = max(participant.last_seen_at or now, now)
