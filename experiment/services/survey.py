"""Survey questions of a study: which a participant is asked, and how the study team sets them up."""

from functools import lru_cache

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max
from django.template.loader import render_to_string

from experiment.domain.survey import MOST_QUESTIONS, Scale
from experiment.models import Arm, Participant, Study, SurveyAnswer, SurveyQuestion
from experiment.models.survey import FIXED
from experiment.services import audit
from experiment.services.advisers import is_advised
from experiment.services.study_language import speaking_language

Place = SurveyQuestion.Place


def survey_questions(study: Study) -> tuple[SurveyQuestion, ...]:
    """In their order; asked of the database once by each process, until one changes. Most studies have none."""
    return _questions(study.pk, study.survey_version) if study.survey_version else ()


@lru_cache(maxsize=512)
def _questions(study: int, version: int) -> tuple[SurveyQuestion, ...]:
    return tuple(SurveyQuestion.objects.filter(study=study).order_by("number", "pk"))


def forget() -> None:
    """Keep nothing; for tests, which use the ids of earlier ones again."""
    _questions.cache_clear()


def asked(participant: Participant, place: str) -> list[SurveyQuestion]:
    """The questions that this participant is asked there."""
    return questions_for(participant.study, participant.arm, place)


def questions_for(study: Study, arm: Arm | None, place: str) -> list[SurveyQuestion]:
    questions = survey_questions(study)
    return [each for each in questions if each.place == place and each.is_for(arm)]


def answers_given(participant: Participant, place: str) -> dict[str, str]:
    """The stored answers of the participant there, by the question's name."""
    stored = SurveyAnswer.objects.filter(participant=participant, question__place=place)
    return dict(stored.values_list("question__name", "value"))


@transaction.atomic
def save_question(question: SurveyQuestion, by: User | None = None) -> SurveyQuestion:
    """Add a question, after the others, or change one.

    Raises:
        ValidationError: it is incomplete or has another's name; or somebody has answered it, or a real participant entered.
    """
    study = _locked(question)
    before = SurveyQuestion.objects.filter(pk=question.pk).first()
    if before is None:
        _require_changeable(study)
        others = study.survey_questions.order_by()
        if others.count() >= MOST_QUESTIONS:
            raise ValidationError(f"A study can have {MOST_QUESTIONS} survey questions.")
        question.number = others.aggregate(last=Max("number", default=0))["last"] + 1
    elif any(getattr(before, name) != getattr(question, name) for name in FIXED):
        _require_changeable(study)
        _require_unanswered(question)
    if question.arm is not None and question.arm.study_id != study.pk:
        raise ValidationError({"arm": "This is another study's arm."})
    question.full_clean()
    question.save()
    _note_change(study, question, "added" if before is None else "changed", by, before)
    return question


@transaction.atomic
def remove_question(question: SurveyQuestion, by: User | None = None) -> None:
    """Take a question away that nobody has answered.

    Raises:
        ValidationError: somebody has, or a real participant has entered.
    """
    study = _locked(question)
    _require_changeable(study)
    _require_unanswered(question)
    question.delete()
    _note_change(study, question, "removed", by)


@transaction.atomic
def move_question_up(question: SurveyQuestion, by: User | None = None) -> None:
    """Put it before the one that stands before it on its page; the first stays.

    Raises:
        ValidationError: a real participant has entered.
    """
    study = _locked(question)
    _require_changeable(study)
    of_page = [*study.survey_questions.filter(place=question.place).order_by("number", "pk")]
    at = next(n for n, each in enumerate(of_page) if each.pk == question.pk)
    if at == 0:
        return
    one, other = of_page[at - 1], of_page[at]
    one.number, other.number = other.number, one.number
    for row in (one, other):
        row.save(update_fields=["number"])
    _note_change(study, question, "moved", by)


def lacks_example(study: Study) -> bool:
    """True if the question about trust in the adviser can be offered."""
    is_free = not study.survey_questions.filter(name="trust").exists()
    return not study.version and is_free and is_advised(study)


def add_example(study: Study, by: User | None = None) -> SurveyQuestion:
    """Add the question about trust in the adviser, in the language of the study's pages.

    Raises:
        ValidationError: it is there, or a real participant has entered.
    """
    with speaking_language(study.language):
        said = render_to_string("experiment/default_trust.txt").strip().splitlines()
    text, low, high = said
    question = SurveyQuestion(
        study=study,
        place=Place.AFTER,
        advised_only=True,
        kind=Scale.name,
        name="trust",
        text=text,
        parts={"points": 7, "low": low, "high": high},
    )
    return save_question(question, by)


def _locked(question: SurveyQuestion) -> Study:
    return Study.objects.select_for_update(no_key=True).get(pk=question.study_id)


def _note_change(
    study: Study,
    question: SurveyQuestion,
    change: str,
    by: User | None,
    before: SurveyQuestion | None = None,
) -> None:
    changed = []
    if before is not None:
        # By the names of the form: what differs between the kinds are its parts
        shared = ("text", "name", "place", "required")
        changed = [name for name in shared if getattr(before, name) != getattr(question, name)]
        parts = question.parts
        changed += [part for part in parts if before.parts.get(part) != parts[part]]
        was_asked = (before.arm_id, before.advised_only)
        if was_asked != (question.arm_id, question.advised_only):
            changed.append("audience")
    study.survey_version += 1
    study.save(update_fields=["survey_version"])
    question.study.survey_version = study.survey_version
    audit.record(
        audit.Action.STUDY_CHANGED,
        by=by,
        study=study,
        survey_question=question.name,
        change=change,
        changed=changed,
    )


def _require_changeable(study: Study) -> None:
    if study.version:
        raise ValidationError(
            (
                "Real participants have entered this study, so its survey questions cannot change. Copy the study to "
                "begin again with others."
            ),
            code="survey_fixed",
        )


def _require_unanswered(question: SurveyQuestion) -> None:
    if question.answers.exists():
        raise ValidationError(
            (
                "Participants have answered this question, so it cannot change. If they are simulated, remove them "
                "first. If they are pilots, copy the study."
            ),
            code="survey_answered",
        )
