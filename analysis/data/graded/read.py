"""Reads all that a study's questions were answered, and how that was graded."""

from functools import partial

from analysis.data.filters import ReportOptions
from analysis.data.graded import answers as answering
from analysis.data.graded.answers import questions_shown, read_questions
from analysis.data.graded.grades import read_grades
from analysis.data.graded.tables import GradedData
from experiment.models import Study
from experiment.services.exclusions import Verdicts


def answering_models(study: Study) -> list[str]:
    """Names of the models that answered questions, as far as this study had a part in it."""
    runs = answering.graded_here(study).order_by("language_model__name")
    return list(dict.fromkeys(runs.values_list("language_model__name", flat=True)))


def read(
    study: Study, kind: str, options: ReportOptions, decided: Verdicts | None
) -> GradedData | None:
    """None where the study shows no question."""
    if not questions_shown(study).exists():
        return None
    questions, categories = read_questions(study)
    answered = answering.read_answers(study, questions, kind, options, decided)
    return GradedData(
        questions=questions.drop(columns="pk"),
        categories=categories,
        seed=options.seed,
        read_texts=partial(answering.read_texts, answered.answers[["pk", "of_people"]]),
        **read_grades(study, answered),
    )
