"""Simulated participants' answers to survey questions."""

import random
from collections.abc import Sequence

from experiment.domain.assignment import participant_rng
from experiment.models import Participant, SurveyQuestion
from experiment.services.survey import asked

ATTENTIVE = 0.97  # share of attention checks answered as asked
WORDS = "Made up by a simulation."


def survey_answers(participant: Participant, place: SurveyQuestion.Place) -> dict[str, str]:
    """By the question's name; the same for the same seed. Nothing where they are asked nothing."""
    rng = participant_rng(participant.seed, f"survey {place.value}")
    return _drawn(asked(participant, place), rng)


def _drawn(questions: Sequence[SurveyQuestion], rng: random.Random) -> dict[str, str]:
    return {question.name: _answer(question, rng) for question in questions}


def _answer(question: SurveyQuestion, rng: random.Random) -> str:
    match question.kind:
        case SurveyQuestion.Kind.NUMBER:
            return str(rng.randint(question.parts["lowest"], question.parts["highest"]))
        case SurveyQuestion.Kind.TEXT:
            return WORDS
        case SurveyQuestion.Kind.ATTENTION if rng.random() < ATTENTIVE:
            return str(question.parts["correct"])
    return rng.choice(question.levels)
