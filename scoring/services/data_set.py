"""The questions in a study's whole data set: these, what models answered, and what judges and people gave.

A name of a column means the same in every table of a data set. Rows are read in pieces: there may be tens of thousands.
Those of grades are in an order that does not tell in which participants came.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Coalesce, NullIf

from experiment.domain.export_columns import TRIAL_COLUMNS, Column
from experiment.domain.release import Form
from experiment.domain.trial_query import TrialQuery
from experiment.models import Item, Study
from experiment.services.export.data_set import Held, MoreTables, Table
from lib.table_files import in_blocks
from scoring.domain.choosing.odds import FAULTS
from scoring.domain.generating import Finish
from scoring.domain.grading.rubric import Fate, Rubric
from scoring.models import Answer, ChoiceRun, GradingRun, JudgeGrade, ModelChoice
from scoring.services.grading.plans import grades_of, plan_of, rubric_of

_OF_TRIALS = {column.name: column for column in TRIAL_COLUMNS}
_PERSONS = "a participant's answer"
_NOT_SAID = "the model or its server did not say"
ITEM = (_OF_TRIALS["item_key"], _OF_TRIALS["item_version"])
MODEL = Column("model", "The language model, by its name on this site.")
RUN = Column("answering_run", "The run in which the model answered, on this site.", "integer")
WHOSE = (
    replace(MODEL, null=_PERSONS),
    replace(RUN, null=_PERSONS),
    replace(_OF_TRIALS["participant"], null="a model's answer"),
)
SIMULATED = Column("is_simulated", "Whether it is simulated.", "boolean")
FINISH = Column(
    "finish",
    "How the model's text ended; stop means a complete text.",
    levels=tuple(finish.value for finish in Finish),
)
SERVER_MODEL = Column("server_model", "Name of the model on the server.", null=_NOT_SAID)
TOKENS = (
    Column("prompt_tokens", "Tokens that the model read.", "integer", null=_NOT_SAID),
    Column("completion_tokens", "Tokens that the model wrote.", "integer", null=_NOT_SAID),
)
SECONDS = Column(
    "seconds",
    "Time that a model took to write, or that a person had the page open.",
    "number",
    "s",
    null="it was not measured",
)
AT = Column("at", "When it was stored.", "time")
POINTS = Column("points", "Points of the rubric; -1 abstains.", "number", null="no grade could be read")  # fmt: skip
FATE = Column("fate", "Outcome of the answer by these points.", levels=tuple(Fate))

QUESTIONS = (
    *ITEM,
    Column("question", "The question as it was asked."),
    Column("expert_answer", "The expert's answer."),
    Column("template", "The template that made the question, by its key.", null="it has none"),
    Column("categories", "Categories by dimension, as a JSON object.", null="it has none"),
)
ANSWERS = (
    MODEL,
    RUN,
    *ITEM,
    SIMULATED,
    Column("model_answer", "The model's answer.", null="it wrote nothing"),
    Column("model_thought", "The model's thought, which is not part of the answer.", null="nothing"),
    FINISH,
    Column("detail", "Why there is no complete answer.", null="there is one"),
    SERVER_MODEL,
    *TOKENS,
    SECONDS,
    Column("model_confidence", "That the answer is right, 0 to 100, as the model says.", "number", null="it is not known"),
    AT,
)  # fmt: skip
CHOICES = (
    MODEL,
    Column("choice_run", "The run in which the model chose, on this site.", "integer"),
    *ITEM,
    SIMULATED,
    Column("answer_form", "How the model answered.", levels=tuple(ChoiceRun.Form.values)),
    Column("prompt", "The prompt's name.", null="it is not known"),
    Column("layout", "How the versions were shown.", levels=tuple(ChoiceRun.Layout.values)),
    Column("samples", "Answers to each test case in each order.", "integer"),
    Column("original_side", "The side on which the original was shown.", levels=("A", "B")),
    Column("sample", "Which of several answers in this order it is, from 0.", "integer"),
    Column("side", "The side that the model chose.", null="no choice could be read, or both sides were as likely"),
    Column("stated_confidence", "That the choice is right, 50 to 100, as the model states.", "number", "percent", null="it states none, or one below 50"),
    Column("log_odds", "Of side A against side B, by the probabilities of tokens.", "number", "nats", null="they are not known, or cannot be true"),
    Column("unused_odds", "Why probabilities of tokens that came with the answer are not used.", levels=tuple(FAULTS), null="they are used, or none came"),
    Column("tries", "Number of requests to the model, repeated ones included.", "integer"),
    FINISH,
    Column("model_text", "What the model wrote last.", null="it wrote nothing"),
    Column("model_thought", "The model's thought, which is not part of the answer.", null="nothing"),
    Column("first_text", "What it wrote first, where that was no choice.", null="that was one"),
    Column("detail", "Why there is no complete answer.", null="there is one"),
    SERVER_MODEL,
    *TOKENS,
    Column("thought_tokens", "Of the tokens written, those of a thought.", "integer", null=_NOT_SAID),
    SECONDS,
    AT,
)  # fmt: skip
JUDGES = (
    *WHOSE,
    *ITEM,
    Column(
        "judge",
        "The language model that graded; exact compares with the expert's answer word for word.",
    ),
    Column("grading_run", "The run in which it graded, on this site.", "integer"),
    Column("rubric", "The rubric's name."),
    SIMULATED,
    POINTS,
    FATE,
    Column("tries", "Number of requests to the judge; 0 for an answer without a text.", "integer"),
    FINISH,
    Column("judge_text", "The judge's last reply.", null="it did not reply, or was not asked"),
    Column("judge_thought", "The judge's thought, which is not part of its grade.", null="nothing"),
    Column(
        "judge_first_text", "The judge's first reply, if it was not a grade.", null="that was one"
    ),
    Column("judge_detail", "Why there is no complete text.", null="there is one"),
    SERVER_MODEL,
    *TOKENS,
    SECONDS,
    AT,
)
PEOPLE = (
    *WHOSE,
    *ITEM,
    Column("grader", "Who graded: g1, g2, … in the order of their first grade in the study."),
    Column("is_adjudication", "Whether it settles a difference between two others.", "boolean"),
    Column("grade_abstains", "Whether the grade says that the answer abstains.", "boolean"),
    Column("level", "Points before deductions.", "number", null="the answer abstains"),
    Column("deductions", "Names of deductions in the rubric.", null="there are none"),
    POINTS,
    FATE,
    Column("note", "The grader's comment.", null="nothing"),
    SECONDS,
    AT,
    SIMULATED,
)
# What judges and graders write may quote a participant: as participants' own words, for who has read them
QUOTING = ("judge_text", "judge_thought", "judge_first_text", "judge_detail", "note")
# When and how long a person graded is nobody else's matter
OF_GRADERS = ("seconds", "at")


Row = tuple[Any, ...]
CHUNK = 1_000
_WHOSE = ("answer__run__language_model__name", "answer__run", "judgment__trial__participant__public_id")  # fmt: skip
_ITEM = {
    "key": Coalesce("answer__item__key", "judgment__trial__item__key"),
    "number": Coalesce("answer__item__version", "judgment__trial__item__version"),
}
# Models' answers first, as they came; then those of participants, by pseudonym
_ORDER = (F(_WHOSE[2]).asc(nulls_first=True), "answer", "judgment__trial__position", "pk")


def of_questions(questions: QuerySet[Item]) -> Iterator[Row]:
    read = questions.order_by("key", "version").values_list(
        "key", "version", "markup", "expert_answer", "template__key", "categories"
    )
    for *row, categories in read.iterator(chunk_size=CHUNK):
        yield (*row, json.dumps(categories, ensure_ascii=False) if categories else None)


# Where nothing was said of it, 0 is stored
SAID_SECONDS = NullIf("seconds", Value(0.0))


def of_answers(answers: QuerySet[Answer]) -> Iterator[Row]:
    read = answers.order_by("run", "pk").values_list(
        "run__language_model__name", "run", "item__key", "item__version", "run__is_simulated", "text", "thought", "finish",
        "detail", "model",
        "prompt_tokens", "completion_tokens", SAID_SECONDS, "confidence", "at",
    )  # fmt: skip
    yield from map(_without_empty, read.iterator(chunk_size=CHUNK))


def of_choices(choices: QuerySet[ModelChoice]) -> Iterator[Row]:
    read = choices.order_by("run", "pk").values_list(
        "run__language_model__name", "run", "item__key", "item__version", "run__is_simulated", "run__form", "run__prompt",
        "run__layout", "run__samples", "original_side",
        "sample", "side", "confidence", "log_odds", "unused", "tries", "finish", "text", "thought", "first_text", "detail", "model",
        "prompt_tokens", "completion_tokens", "thought_tokens", SAID_SECONDS, "at",
    )  # fmt: skip
    yield from map(_without_empty, read.iterator(chunk_size=CHUNK))


def of_judges(grades: QuerySet[JudgeGrade]) -> Iterator[Row]:
    """Each run's points count by its own rubric."""
    runs: dict[int, tuple[GradingRun, Rubric]] = {}
    read = grades.annotate(**_ITEM).order_by("run", *_ORDER).values_list(
        *_WHOSE, "key", "number", "run", "points", "tries", "finish", "text", "thought", "first_text", "detail", "model",
        "prompt_tokens", "completion_tokens", SAID_SECONDS, "at",
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
    by_first = grades_of(study).order_by("pk").values_list("grader", flat=True)
    graders = {grader: f"g{n}" for n, grader in enumerate(dict.fromkeys(by_first), start=1)}
    read = grades_of(study).annotate(**_ITEM).order_by(*_ORDER).values_list(
        *_WHOSE, "key", "number", "grader", "is_adjudication", "abstained", "level", "deductions", "points", "note", "seconds", "at",
        "is_simulated",
    )  # fmt: skip
    for model, run, person, key, version, grader, *given in read.iterator(chunk_size=CHUNK):
        *chosen, deductions, points, note, seconds, at, is_simulated = given
        by = graders[grader]
        counts = ("; ".join(deductions), points, str(rubric.fate(points)))
        said = (note, seconds, at, is_simulated)
        yield _without_empty((model, run, _name(person), key, version, by, *chosen, *counts, *said))


def _name(public_id: object) -> str | None:
    return None if public_id is None else str(public_id)


def _without_empty(row: Row) -> Row:
    """Nothing in the place of empty texts, as every missing value."""
    return tuple(None if value == "" else value for value in row)


def more_tables(study: Study, query: TrialQuery, form: Form) -> MoreTables:
    """Tables of the questions that the query's test cases may be; of participants' answers, those that are among the trials.

    For the public they have nothing that may quote a participant, unless `form` asks for words, and nothing of when people graded.
    """
    return lambda held: _tables(study, query, held, form)


def state(study: Study) -> str:
    """Equal names, equal tables."""
    of_run = ("pk", "status", "done", "finished_at", "is_simulated", "language_model__name")
    questions = Item.objects.filter(_asked_in(study))
    parts = [
        *(list(runs.order_by("pk").values_list(*of_run)) for runs in (study.answering_runs, study.choice_runs, study.grading_runs)),
        list(grades_of(study).order_by("pk").values_list("pk", "points", "level", "deductions", "note")),
        plan_of(study).rubric,
        list(questions.order_by("pk").values_list("pk", "edits", "template__key")),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def _tables(study: Study, query: TrialQuery, held: Held, form: Form) -> Iterator[Table]:
    wanted = {"source": query.source, "subfield": query.subfields, "key": query.items}
    asked = {f"{name}__in": values for name, values in wanted.items() if values}
    questions = Item.objects.filter(_asked_in(study), **asked)
    keys = set(questions.values_list("key", "version"))
    if keys:
        about = "the questions with the expert's answers"
        yield Table("questions", about, QUESTIONS, in_blocks(of_questions(questions)))
    answers = Answer.objects.filter(item__in=questions.values("pk"), run__study=study)
    if answers.exists():
        about = "language models' answers to questions"
        yield Table("modelanswers", about, ANSWERS, in_blocks(of_answers(answers)))
    without = () if not form.k or form.words else QUOTING
    shown = Item.objects.shown_by([study]).filter(**asked)
    choices = ModelChoice.objects.filter(item__in=shown.values("pk"), run__study=study)
    if choices.exists():
        about = "what language models chose in test cases"
        yield Table("modelchoices", about, CHOICES, in_blocks(of_choices(choices)))
    grades = JudgeGrade.objects.filter(run__study=study)
    if grades.exists():
        about = "judges' grades of these answers and of participants' answers"
        found = _of(of_judges(grades), JUDGES, keys, held)
        yield _table("judgegrades", about, JUDGES, found, without)
    if grades_of(study).exists():
        about = "people's grades of these answers, given without knowing whose they were"
        found = _of(of_people(study), PEOPLE, keys, held)
        dropped = (*without, *OF_GRADERS) if form.k else ()
        yield _table("persongrades", about, PEOPLE, found, dropped)


def _of(
    read: Iterator[Row], columns: Sequence[Column], keys: set[tuple[str, int]], held: Held
) -> Iterator[Row]:
    """Grades of models' answers to these questions, and of what participants wrote in these trials."""
    names = [column.name for column in columns]
    person, key, version = map(names.index, ("participant", "item_key", "item_version"))
    for row in read:
        if row[person] is None:
            is_held = (row[key], row[version]) in keys
        else:
            is_held = held.has([row[person]], row[key])
        if is_held:
            yield row


def _table(
    name: str,
    about: str,
    columns: Sequence[Column],
    read: Iterator[Row],
    dropped: Sequence[str],
) -> Table:
    kept = [place for place, column in enumerate(columns) if column.name not in dropped]
    blocks = ([block[place] for place in kept] for block in in_blocks(read))
    return Table(name, about, [columns[place] for place in kept], blocks, dropped)


def _asked_in(study: Study) -> Q:
    """Questions that the study draws from or gave, and those that a model answered in it."""
    shown = Item.objects.shown_by([study]).filter(kind=Item.Kind.QUESTION)
    answered = Answer.objects.filter(run__study=study)
    return Q(pk__in=shown.values("pk")) | Q(pk__in=answered.values("item"))
