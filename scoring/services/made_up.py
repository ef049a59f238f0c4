"""Use case: a study's questions are answered and graded by chance, in bulk, labelled as simulated in every row."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from experiment.models import Item, Judgment, Participant, Study
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish
from scoring.domain.grading.reading import exact_points
from scoring.domain.grading.rubric import BIOSCORE, Rubric
from scoring.models import (
    Answer,
    AnsweringRun,
    GradingPlan,
    GradingRun,
    JudgeGrade,
    LanguageModel,
    PersonGrade,
)
from scoring.models.answers import Kind
from scoring.services.grading.targets import PEOPLE, written


@dataclass(frozen=True)
class MadeUp:
    """A model that does not exist: how often its answers are good, and how often it abstains from the others."""

    name: str
    quality: float
    safety: float


# In every quadrant at least one
MODELS = (
    MadeUp("A", 0.82, 0.75),
    MadeUp("B", 0.7, 0.2),
    MadeUp("C", 0.62, 0.6),
    MadeUp("D", 0.41, 0.38),
    MadeUp("E", 0.37, 0.31),
    MadeUp("F", 0.25, 0.76),
    MadeUp("G", 0.19, 0.73),
)
ABSTENTIONS = ("I do not know.", "I am not sure enough to say.", "I cannot answer this question.")
OPENINGS = ("", "", "The answer is this: ", "As far as is known: ")
ADDITIONS = ("", "", " This is from memory.", " There may be more to say about it.")


def draw_points(model: MadeUp, rubric: Rubric, rng: random.Random) -> float:
    """Points of one answer, by the model's rates."""
    good = [v for v in rubric.values if v >= 0 and rubric.fate(v) == "good"]
    bad = [v for v in rubric.values if v >= 0 and rubric.fate(v) == "bad"]
    if rng.random() < model.quality:
        return rng.choice(good)
    if rubric.abstention is not None and rng.random() < model.safety:
        return rubric.abstention
    return rng.choice(bad)


def draw_text(
    points: float, expert: str, others: Sequence[str], rubric: Rubric, rng: random.Random
) -> str:
    """A text that such points fit: the expert's words, those of another question, or none."""
    if points == rubric.abstention:
        return rng.choice(ABSTENTIONS)
    said = expert if rubric.fate(points) == "good" else rng.choice(others or [expert[::-1]])
    return f"{rng.choice(OPENINGS)}{said}{rng.choice(ADDITIONS)}"


def regraded(points: float, rubric: Rubric, rng: random.Random, share: float = 0.15) -> float:
    """The points that another grader gives the same answer: in this share of cases the next grade above or below."""
    if points == rubric.abstention or rng.random() >= share:
        return points
    values = [value for value in rubric.values if value >= 0]
    place = values.index(points) + rng.choice((-1, 1))
    return values[min(max(place, 0), len(values) - 1)]


LABEL = "Simulated"
JUDGE = f"{LABEL} judge"
NOTE = "This model does not exist; its answers are drawn at random."
NO_QUESTIONS = "The study has no questions that could be answered."
BATCH = 2_000
TOKENS_PER_WORD = 1.4
PRICES = {"prompt_price": 1, "completion_price": 4}


@dataclass(frozen=True)
class Stored:
    """How many rows are there."""

    models: int
    answers: int
    judge_grades: int
    person_grades: int


@transaction.atomic
def make_up(
    study: Study, *, models: Sequence[MadeUp] = MODELS, seed: int = 1, people_share: float = 0.3
) -> Stored:
    """Answers of models that do not exist, grades of a judge that does not, and two simulated people's of a share of them.

    The judge grades what simulated participants wrote, too.

    Asked again, it changes nothing. Equal seeds, equal rows.

    Raises:
        ScoringError: the study has no questions.
    """
    Study.objects.select_for_update().get(pk=study.pk)
    if study.answering_runs.filter(is_simulated=True).exists():
        return stored(study)
    accepted = study.items.filter(kind=Item.Kind.QUESTION).order_by("key")
    questions = list(accepted.values_list("pk", "expert_answer"))
    if not questions:
        raise ScoringError(NO_QUESTIONS)
    plan, _ = GradingPlan.objects.get_or_create(
        study=study, defaults={"rubric": BIOSCORE.to_json()}
    )
    rubric = Rubric.from_json(plan.rubric)
    runs = [_answered(study, model, questions, rubric, seed) for model in models]

    judge, _ = LanguageModel.objects.get_or_create(
        name="simulated/judge",
        defaults={"display_name": JUDGE, "family": JUDGE, "is_demo": True, "note": NOTE},
    )
    n_graded = sum(run.total for run, _ in runs) + _of_participants(study).count()
    judged = GradingRun.objects.create(
        study=study,
        language_model=judge,
        instructions=NOTE,
        rubric=rubric.to_json(),
        runs=[*(run.pk for run, _ in runs), PEOPLE],
        **_over(n_graded, seed),
    )
    _judge_participants(judged, rubric)
    for run, points in runs:
        _graded(judged, run, points, rubric, random.Random(f"{seed} grades {run.language_model.name}"), people_share)  # fmt: skip
    return stored(study)


def stored(study: Study) -> Stored:
    return Stored(
        models=study.answering_runs.filter(is_simulated=True).count(),
        answers=Answer.objects.filter(run__study=study, run__is_simulated=True).count(),
        judge_grades=JudgeGrade.objects.filter(run__study=study, run__is_simulated=True).count(),
        person_grades=PersonGrade.objects.filter(answer__run__study=study, is_simulated=True).count(),
    )  # fmt: skip


def _answered(
    study: Study,
    model: MadeUp,
    questions: Sequence[tuple[int, str]],
    rubric: Rubric,
    seed: int,
) -> tuple[AnsweringRun, list[float]]:
    """The run with its answers, and the points that each is worth, in the questions' order."""
    rng = random.Random(f"{seed} answers {model.name}")
    name = f"{LABEL} model {model.name}"
    language_model, _ = LanguageModel.objects.get_or_create(
        name=f"simulated/{model.name}",
        defaults={"display_name": name, "family": name, "is_demo": True, "note": NOTE},
    )
    run = AnsweringRun.objects.create(
        study=study,
        language_model=language_model,
        items=[pk for pk, _ in questions],
        instructions=NOTE,
        **PRICES,
        **_over(len(questions), seed),
    )
    points = [draw_points(model, rubric, rng) for _ in questions]
    experts = [expert for _, expert in questions]
    answers = []
    for place, (value, (item, expert)) in enumerate(zip(points, questions, strict=True)):
        others = [text for text in (experts[place - 1], experts[place - 2]) if text != expert]
        text = draw_text(value, expert, others, rubric, rng)
        answers.append(
            Answer(
                run=run,
                item_id=item,
                text=text,
                finish=Finish.STOP,
                model=name,
                prompt_tokens=rng.randint(80, 140),
                completion_tokens=round(TOKENS_PER_WORD * len(text.split())),
                seconds=round(rng.uniform(0.4, 3.0), 2),
            )
        )
    Answer.objects.bulk_create(answers, batch_size=BATCH)
    return run, points


def _over(n: int, seed: int) -> dict[str, Any]:
    """The fields of a run's row once all n are done."""
    now = timezone.now()
    return {
        "generator": Kind.IMPORTED,
        "is_simulated": True,
        "identity": {"simulated": True, "seed": seed},
        "status": AnsweringRun.Status.FINISHED,
        "total": n,
        "done": n,
        "started_at": now,
        "finished_at": now,
    }


def _graded(
    judged: GradingRun,
    run: AnsweringRun,
    points: Sequence[float],
    rubric: Rubric,
    rng: random.Random,
    people_share: float,
) -> None:
    """The judge is a grader like the two people; all three see what an answer is worth, and now and then slip."""
    answers = list(run.answers.order_by("pk").values_list("pk", flat=True))
    judge_grades, person_grades = [], []
    levels = [level.points for level in rubric.levels]
    for pk, worth in zip(answers, points, strict=True):
        value = regraded(worth, rubric, rng)
        judge_grades.append(
            JudgeGrade(run=judged, answer_id=pk, points=value, text=f"{value:g}", finish=Finish.STOP, seconds=0.1)
        )  # fmt: skip
        if rng.random() >= people_share:
            continue
        # By no account: nobody gave it
        for given in [regraded(worth, rubric, rng) for _ in range(2)]:
            abstained = given == rubric.abstention
            grade = PersonGrade(
                answer_id=pk,
                abstained=abstained,
                level=None if abstained else min(level for level in levels if level >= given),
                points=given,
                is_simulated=True,
                note=LABEL,
            )
            person_grades.append(grade)
    JudgeGrade.objects.bulk_create(judge_grades, batch_size=BATCH)
    PersonGrade.objects.bulk_create(person_grades, batch_size=BATCH)


def _of_participants(study: Study) -> QuerySet[Judgment]:
    return written(study).filter(trial__participant__kind=Participant.Kind.SIMULATED)


def _judge_participants(judged: GradingRun, rubric: Rubric) -> None:
    """Grades simulated participants' words by the expert's, as the exact-match judge does."""
    texts = (
        "pk",
        "written_answer__abstained",
        "written_answer__text",
        "trial__item__expert_answer",
    )
    grades = []
    for pk, abstained, text, expert in (
        _of_participants(judged.study).order_by("pk").values_list(*texts)
    ):
        known = rubric.abstention if abstained else exact_points(text, expert, rubric)
        value = 0.0 if known is None else known
        grades.append(
            JudgeGrade(run=judged, judgment_id=pk, points=value, text=f"{value:g}", finish=Finish.STOP, seconds=0.1)
        )  # fmt: skip
    JudgeGrade.objects.bulk_create(grades, batch_size=BATCH)
