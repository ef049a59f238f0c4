"""Rows of questions, answers and grades, made directly."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiment.models import Item, Judgment, Study, Trial, WrittenAnswer
from experiment.services.study_setup import create_study, pin_items
from scoring.domain.grading.rubric import BIOSCORE
from scoring.models import Answer, AnsweringRun, GradingRun, JudgeGrade, LanguageModel, PersonGrade
from tests.factories import make_participant


def make_questions(n: int = 4, slug: str = "quiz", **fields: Any) -> Study:
    """A study of questions alone; the k-th is of category K, "even" or "odd", and has k + 2 words."""
    sizes = {"human_items": 0, "machine_items": 0, "catch_items": 0, "question_items": 2}
    study = create_study(slug, "brainbench", contact="lab@example.org", **(sizes | fields))
    questions = [
        Item.objects.create(
            key=f"{slug}-{k}",
            kind=Item.Kind.QUESTION,
            markup=" ".join(["What", "is", *["word"] * k]),
            expert_answer=f"Answer {k}.",
            categories={"Parity": ["odd" if k % 2 else "even"], "Topic": ["A", "B"]},
            status=Item.Status.ACCEPTED,
        )
        for k in range(n)
    ]
    pin_items(study, questions)
    return study


def questions_of(study: Study) -> list[Item]:
    return list(study.items.filter(kind=Item.Kind.QUESTION).order_by("key"))


def answer(
    study: Study, model: str = "lab/a", texts: Sequence[str] = (), **fields: Any
) -> AnsweringRun:
    """A finished run; "" is an answer that a filter kept back. Without texts, each is "Some words"."""
    language_model, _ = LanguageModel.objects.get_or_create(
        name=model, defaults={"display_name": model, "family": model.split("/")[0]}
    )
    values = {"generator": "chat", "status": "finished", "prompt_price": 1, "completion_price": 10}
    run = AnsweringRun.objects.create(
        study=study, language_model=language_model, **(values | fields)
    )
    items = questions_of(study)
    for item, text in zip(items, texts or ["Some words"] * len(items), strict=False):
        Answer.objects.create(
            run=run,
            item=item,
            text=text,
            finish="stop" if text else "filtered",
            prompt_tokens=100,
            completion_tokens=10,
            seconds=2.0,
        )
    return run


def grade(
    study: Study, points: Mapping[AnsweringRun, Sequence[float | None]], **fields: Any
) -> GradingRun:
    """A judge's finished run over the first answers of these; None is what could not be read."""
    judge, _ = LanguageModel.objects.get_or_create(
        name=fields.pop("judge", "lab/judge"), defaults={"display_name": "Judge"}
    )
    values = {"generator": "chat", "status": "finished", "rubric": BIOSCORE.to_json()} | fields
    run = GradingRun.objects.create(
        study=study, language_model=judge, runs=[run.pk for run in points], **values
    )
    for of, several in points.items():
        for one, value in zip(of.answers.order_by("pk"), several, strict=False):
            JudgeGrade.objects.create(run=run, answer=one, points=value, finish="stop", seconds=1)
    return run


def person_grade(points: float, grader: Any = None, **fields: Any) -> PersonGrade:
    """A person's grade of an answer or a judgment."""
    abstained = points == -1
    level = None if abstained else points
    return PersonGrade.objects.create(
        grader=grader, abstained=abstained, level=level, points=points, **fields
    )


def write(
    study: Study, texts: Sequence[str | None], kind: str = "real", **fields: Any
) -> list[Judgment]:
    """A participant who answers the first questions; None is “I do not know”."""
    person = make_participant(study, kind=kind, judged=0, stage="finished", **fields)
    found = []
    for n, (item, text) in enumerate(zip(questions_of(study), texts, strict=False)):
        trial = Trial.objects.create(
            participant=person, position=n + 1, stratum="question", item=item
        )
        judgment = Judgment.objects.create(
            trial=trial, confidence=40 + n, confidence_moved=True, expertise_moved=False, rt_ms=9000
        )
        WrittenAnswer.objects.create(judgment=judgment, text=text or "", abstained=text is None)
        found.append(judgment)
    return found
