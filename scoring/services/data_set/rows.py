"""Rows of answers and grades, in the order in which they came, as the columns beside say. Read in pieces: there may be tens of thousands."""

import json
from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from experiment.models import Item, Study
from scoring.domain.grading.rubric import Rubric
from scoring.models import Answer, GradingRun, JudgeGrade
from scoring.services.grading.plans import grades_of, plan_of, rubric_of

Row = tuple[Any, ...]
CHUNK = 1_000
_WHOSE = ("answer__run__language_model__name", "answer__run", "judgment__trial__participant__public_id")  # fmt: skip
_ITEM = {
    "key": Coalesce("answer__item__key", "judgment__trial__item__key"),
    "number": Coalesce("answer__item__version", "judgment__trial__item__version"),
}


def of_questions(questions: QuerySet[Item]) -> Iterator[Row]:
    read = questions.order_by("key", "version").values_list(
        "key", "version", "markup", "expert_answer", "template__key", "categories"
    )
    for *row, categories in read.iterator(chunk_size=CHUNK):
        yield (*row, json.dumps(categories, ensure_ascii=False) if categories else None)


def of_answers(answers: QuerySet[Answer]) -> Iterator[Row]:
    read = answers.order_by("run", "pk").values_list(
        "run__language_model__name", "run", "item__key", "item__version", "run__is_simulated", "text", "finish", "detail", "model",
        "prompt_tokens", "completion_tokens", "seconds", "confidence", "at",
    )  # fmt: skip
    yield from map(_without_empty, read.iterator(chunk_size=CHUNK))


def of_judges(grades: QuerySet[JudgeGrade]) -> Iterator[Row]:
    """Each run's points count by its own rubric."""
    runs: dict[int, tuple[GradingRun, Rubric]] = {}
    read = grades.order_by("run", "pk").annotate(**_ITEM).values_list(
        *_WHOSE, "key", "number", "run", "points", "tries", "finish", "text", "first_text", "detail", "model",
        "prompt_tokens", "completion_tokens", "seconds", "at",
    )  # fmt: skip
    for model, answering, person, key, version, number, points, *said in read.iterator(
        chunk_size=CHUNK
    ):
        if number not in runs:
            run = GradingRun.objects.select_related("language_model").get(pk=number)
            runs[number] = run, Rubric.from_json(run.rubric)
        run, rubric = runs[number]
        judge = run.language_model.name if run.language_model is not None else run.generator
        by = (judge, number, rubric.name, run.is_simulated)
        graded = (points, str(rubric.fate(points)))
        whose = (model, answering, _name(person), key, version)
        yield _without_empty((*whose, *by, *graded, *said))


def of_people(study: Study) -> Iterator[Row]:
    """All of the study's, by its plan's rubric: who gave them has a number, whichever of them are then left out."""
    rubric = rubric_of(plan_of(study))
    graders: dict[int | None, str] = {}
    read = grades_of(study).order_by("pk").annotate(**_ITEM).values_list(
        *_WHOSE, "key", "number", "grader", "is_adjudication", "abstained", "level", "deductions", "points", "note", "seconds", "at",
        "is_simulated",
    )  # fmt: skip
    for model, run, person, key, version, grader, *given in read.iterator(chunk_size=CHUNK):
        *chosen, deductions, points, note, seconds, at, is_simulated = given
        by = graders.setdefault(grader, f"g{len(graders) + 1}")
        counts = ("; ".join(deductions), points, str(rubric.fate(points)))
        said = (note, seconds, at, is_simulated)
        yield _without_empty((model, run, _name(person), key, version, by, *chosen, *counts, *said))


def _name(public_id: object) -> str | None:
    return None if public_id is None else str(public_id)


def _without_empty(row: Row) -> Row:
    """Nothing in the place of empty texts, as every missing value."""
    return tuple(None if value == "" else value for value in row)
