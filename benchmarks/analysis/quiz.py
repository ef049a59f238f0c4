"""A simulated study of questions, written to the database a chunk at a time: models' answers, a judge's and people's grades."""

import random
from collections.abc import Iterable
from itertools import islice
from typing import Any

from django.db import models, transaction

from experiment.models import Item, QuestionTemplate, ResearchField, Study, StudyItem
from scoring.domain.generating import Finish
from scoring.domain.grading.rubric import BIOSCORE
from scoring.models import (
    Answer,
    AnsweringRun,
    GradingPlan,
    GradingRun,
    JudgeGrade,
    LanguageModel,
    PersonGrade,
)
from scoring.services.made_up import MODELS, MadeUp, draw_points, draw_text, regraded

PER_TEMPLATE = 250
CATEGORIES = {"Topic": 10, "Reasoning": 7}
EXPERT_WORDS = 40
FAILING = 0.02  # of answers
BY_PEOPLE = 0.02  # of answers, by two each
CHUNK = 2_000


def make_quiz(n_questions: int, n_models: int, seed: int = 42) -> Study:
    """Each of the models, at most 7, answers every question; one judge grades all answers, two people a share of them."""
    rng = random.Random(seed)
    slug = f"quiz-{n_questions}"
    with transaction.atomic():
        study = Study.objects.create(slug=slug, title=f"{n_questions:,} questions", briefing="-")
        GradingPlan.objects.create(study=study, rubric=BIOSCORE.to_json())
        _questions(rng, study, n_questions)
        of = study.items.order_by("pk")
        items = list(of.values_list("pk", flat=True))
        runs = [_answered(rng, study, model, items) for model in MODELS[:n_models]]
        judge = _model("simulated/judge", "Judge")
        judged = GradingRun.objects.create(
            study=study,
            language_model=judge,
            rubric=BIOSCORE.to_json(),
            runs=[run.pk for run, _ in runs],
            generator="imported",
            status="finished",
            is_simulated=True,
        )
        for run, points in runs:
            _graded(rng, judged, run, points)
    return study


def _questions(rng: random.Random, study: Study, n: int) -> None:
    field = ResearchField.objects.create(slug=study.slug, name=study.title)
    templates = [
        QuestionTemplate.objects.create(field=field, key=f"t{k}", question="{{ gene }}?")
        for k in range(-(-n // PER_TEMPLATE))
    ]

    def question(k: int) -> Item:
        item = Item(
            key=f"{study.slug}-{k:06d}",
            kind=Item.Kind.QUESTION,
            markup=f"{_words(rng, 15)} {k}?",
            expert_answer=_words(rng, EXPERT_WORDS),
            categories={name: [f"{name} {k % m}"] for name, m in CATEGORIES.items()},
            template=templates[k // PER_TEMPLATE],
            status=Item.Status.ACCEPTED,
        )
        item.derive_texts()
        return item

    _store(Item, map(question, range(n)))
    of = Item.objects.filter(key__startswith=f"{study.slug}-").order_by("pk")
    pks = list(of.values_list("pk", flat=True))
    _store(StudyItem, (StudyItem(study=study, item_id=pk) for pk in pks))


def _answered(
    rng: random.Random, study: Study, model: MadeUp, items: list[int]
) -> tuple[AnsweringRun, list[float | None]]:
    """The run, and what each answer is worth; None where there is no text."""
    run = AnsweringRun.objects.create(
        study=study,
        language_model=_model(f"simulated/{model.name}", f"Model {model.name}"),
        items=items,
        generator="imported",
        status="finished",
        is_simulated=True,
        prompt_price=1,
        completion_price=4,
    )
    points = [None if rng.random() < FAILING else draw_points(model, BIOSCORE, rng) for _ in items]

    def answer(item: int, worth: float | None) -> Answer:
        expert, other = (_words(random.Random(k), EXPERT_WORDS) for k in (item, item + 1))
        text = "" if worth is None else draw_text(worth, expert, [other], BIOSCORE, rng)
        return Answer(
            run=run,
            item_id=item,
            text=text,
            finish=Finish.STOP if text else Finish.FILTERED,
            prompt_tokens=100,
            completion_tokens=len(text.split()),
            seconds=1.0,
            confidence=rng.randint(0, 100),
        )

    _store(Answer, map(answer, items, points))
    return run, points


def _graded(
    rng: random.Random, judged: GradingRun, run: AnsweringRun, points: list[float | None]
) -> None:
    pks = list(run.answers.order_by("pk").values_list("pk", flat=True))

    def by_judge(pk: int, worth: float | None) -> JudgeGrade:
        said = None if worth is None else regraded(worth, BIOSCORE, rng)
        finish = Finish.FILTERED if worth is None else Finish.STOP
        return JudgeGrade(run=judged, answer_id=pk, points=said, finish=finish, seconds=0.1)

    _store(JudgeGrade, map(by_judge, pks, points))
    sample = [(pk, worth) for pk, worth in zip(pks, points, strict=True) if worth is not None]
    sample = [pair for pair in sample if rng.random() < BY_PEOPLE]
    _store(PersonGrade, (_by_person(rng, pk, worth) for pk, worth in sample for _ in range(2)))


def _by_person(rng: random.Random, answer: int, worth: float) -> PersonGrade:
    said = regraded(worth, BIOSCORE, rng)
    level = None if said < 0 else min(one.points for one in BIOSCORE.levels if one.points >= said)
    return PersonGrade(
        answer_id=answer, abstained=said < 0, level=level, points=said, is_simulated=True
    )


def _model(name: str, shown: str) -> LanguageModel:
    known, _ = LanguageModel.objects.get_or_create(
        name=name, defaults={"display_name": shown, "family": shown}
    )
    return known


def _words(rng: random.Random, n: int) -> str:
    return " ".join(f"word{rng.randint(0, 5_000)}" for _ in range(n))


def _store(model: type[models.Model], rows: Iterable[Any]) -> None:
    rows = iter(rows)
    while batch := list(islice(rows, CHUNK)):
        model._default_manager.bulk_create(batch)
