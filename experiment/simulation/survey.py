"""Simulated participants' answers to survey questions."""

from experiment.domain.assignment import participant_rng
from experiment.models import Participant, SurveyQuestion
from experiment.services.survey import asked


def survey_answers(participant: Participant, place: SurveyQuestion.Place) -> dict[str, str]:
    """By the question's name; the same for the same seed. Nothing where they are asked nothing."""
    rng = participant_rng(participant.seed, f"survey {place.value}")
    questions = asked(participant, place)
    return {question.name: question.rules.made_up(question.parts, rng) for question in questions}
