"""Names that pages for researchers give to the pages of a study, and how far a participant is."""

from experiment.models import Participant

Stage = Participant.Stage
NAMES = {
    Stage.DEMOGRAPHICS: "About you",
    Stage.SURVEY_BEFORE: "Survey questions before the trials",
    Stage.PRACTICE: "Practice",
    Stage.START: "Before the trials",
    Stage.SURVEY_AFTER: "Survey questions after the trials",
    Stage.DEBRIEF: "Debrief",
}


def page_name(stage: str, position: int | None) -> str:
    """
    >>> page_name("practice", None), page_name("trial", 3)
    ('Practice', 'Trial 3')
    """
    return f"Trial {position}" if stage == Stage.TRIAL else NAMES[Stage(stage)]


def last_page(person: Participant, position: int | None) -> str:
    """The last page that the participant reached; `position` is of the trial, where it is one."""
    if person.has_ended:
        return "the end"
    if person.stage == Stage.TRIAL:
        return f"trial {position or 1} of {person.n_trials}"
    return page_name(person.stage, None)
