"""Answers of models and people: of each model one run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from django.db.models import Exists, OuterRef, QuerySet

from analysis.data.filters import ReportOptions, shown
from analysis.data.graded.tables import PEOPLE, Ints
from analysis.data.items import renumber
from experiment.models import Item, Participant, Study, WrittenAnswer
from experiment.models.trials import believed
from experiment.services.counts import judgments_of
from experiment.services.exclusions import Verdicts
from scoring.domain.generating import MILLION, Finish
from scoring.models import Answer, AnsweringRun, GradingRun
from scoring.services.answering import counted
from scoring.services.model_facts import told_apart

ABSTAINED = "abstained"  # the state of a person's answer: “I do not know” was chosen
COLUMNS = {
    "pk": np.int64, "of_people": bool, "run": np.int64, "item": np.int64, "participant": np.int64, "state": object,
    "words": np.int64, "characters": np.int64, "prompt_tokens": float, "completion_tokens": float, "seconds": float,
    "confidence": float,
}  # fmt: skip


@dataclass(frozen=True)
class Answered:
    """models and answers as in GradedData, answers with their pk and of_people, without what grades say."""

    models: pd.DataFrame
    answers: pd.DataFrame
    runs: Sequence[int]


def read_answers(
    study: Study,
    questions: pd.DataFrame,
    kind: str,
    options: ReportOptions,
    decided: Verdicts | None,
) -> Answered:
    """Answers of one of a model's runs that are over: no simulated one, most questions, the newest."""
    items = {pk: n for n, pk in enumerate(questions["pk"])}
    rows = graded_here(study).select_related("language_model").defer("items", "instructions")
    if options.models:
        rows = rows.filter(language_model__name__in=options.models)
    runs = counted(list(rows), questions_shown(study))
    runs = sorted(runs, key=lambda run: run.language_model.name)
    judgments = judgments_of(study, kind)
    if options.trials == "analysed":
        judgments = (
            judgments.valid()
            if decided is None
            else judgments.filter(
                pk__in=decided.valid_judgments, trial__participant__in=decided.valid_participants
            )
        )
    judged = judgments.filter(pk=OuterRef("judgment")).order_by()
    written = WrittenAnswer.objects.filter(Exists(judged))
    answers = pd.concat([_of_models(runs), _of_people(written)], ignore_index=True)
    answers["question"] = renumber(answers.pop("item"), items)
    answers = answers[answers["question"] >= 0].reset_index(drop=True)
    has_people = bool(answers["of_people"].any())
    numbers = {run.pk: n for n, run in enumerate(runs)}
    model = renumber(answers.pop("run"), numbers)
    answers["model"] = np.where(answers["of_people"], len(runs), model)
    models = _models(runs, has_people, kind == Participant.Kind.SIMULATED)
    price = models[["prompt_price", "completion_price"]].to_numpy()[answers["model"]]
    tokens = answers[["prompt_tokens", "completion_tokens"]].to_numpy()
    answers["cost"] = (price * tokens).sum(axis=1) / MILLION
    return Answered(models, answers, [run.pk for run in runs])


def graded_here(study: Study) -> QuerySet[AnsweringRun]:
    """Runs that are over, and that this study asked for, or whose answers it had graded."""
    own = AnsweringRun.objects.exclude(status__in=AnsweringRun.OPEN_STATUSES)
    runs = GradingRun.objects.filter(study=study).values_list("runs", flat=True)
    elsewhere = {pk for several in runs for pk in several if isinstance(pk, int)}
    return own.filter(study=study) | own.filter(pk__in=elsewhere)


def _models(runs: list[AnsweringRun], has_people: bool, are_simulated: bool) -> pd.DataFrame:
    names = told_apart([run.language_model for run in runs])
    rows = [
        {
            "name": run.language_model.name,
            "display_name": shown(names[run.language_model_id], run.is_simulated),
            "family": run.language_model.family,
            "is_people": False,
            "is_simulated": run.is_simulated,
            "prompt_price": float(prices.prompt) if (prices := run.prices) else np.nan,
            "completion_price": float(prices.completion) if prices else np.nan,
        }
        for run in runs
    ]
    if has_people:
        people = {"name": PEOPLE, "family": "", "is_people": True}
        people["display_name"] = shown(PEOPLE.title(), are_simulated)
        prices_unknown = dict.fromkeys(("prompt_price", "completion_price"), np.nan)
        rows.append({**people, "is_simulated": are_simulated, **prices_unknown})
    columns = ["name", "display_name", "family", "is_people", "is_simulated", "prompt_price", "completion_price"]  # fmt: skip
    table = pd.DataFrame(rows, columns=columns)
    return table.astype({"is_people": bool, "is_simulated": bool, **dict.fromkeys(columns[5:], float)})  # fmt: skip


def _of_models(runs: list[AnsweringRun]) -> pd.DataFrame:
    rows = Answer.objects.filter(run__in=[run.pk for run in runs]).order_by("pk")
    names = ("pk", "run_id", "item_id", "finish", "text", "prompt_tokens", "completion_tokens", "seconds", "confidence")  # fmt: skip
    return _table(
        (
            pk,
            False,
            run,
            item,
            -1,
            finish,
            *lengths(text),
            prompt,
            completion,
            seconds or None,
            confidence,
        )
        for pk, run, item, finish, text, prompt, completion, seconds, confidence in rows.values_list(
            *names
        ).iterator(chunk_size=CHUNK)
    )


def _of_people(written: QuerySet[WrittenAnswer]) -> pd.DataFrame:
    told_ms = believed("judgment__rt_ms", "judgment__server_ms")
    names = ("judgment_id", "judgment__trial__participant_id", "judgment__trial__item_id", "abstained", "text", told_ms, "judgment__confidence")  # fmt: skip
    rows = written.order_by("judgment_id").values_list(*names).iterator(chunk_size=CHUNK)
    return _table(
        (
            pk,
            True,
            -1,
            item,
            participant,
            ABSTAINED if abstained else Finish.STOP.value,
            *lengths(text),
            np.nan,
            np.nan,
            np.nan if ms is None else ms / 1000,
            confidence,
        )
        for pk, participant, item, abstained, text, ms, confidence in rows
    )


def _table(rows: Iterator[tuple[Any, ...]] | Any) -> pd.DataFrame:
    """Columns are filled one chunk after the other: Python's own objects of all rows would take ten times as much."""
    parts: list[pd.DataFrame] = []
    chunk: list[tuple[Any, ...]] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == CHUNK:
            parts.append(_typed(chunk))
            chunk = []
    return pd.concat([*parts, _typed(chunk)], ignore_index=True)


def _typed(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)
    # Few values, each of them often
    return table.assign(state=table["state"].map(str).astype(object))


def read_texts(answers: pd.DataFrame, wanted: Ints) -> Iterator[pd.DataFrame]:
    """Chunks of (answer, text, expert_answer) of the wanted rows of `answers`, which have pk and of_people."""
    for of_people, rows in answers.iloc[wanted].groupby("of_people"):
        for first in range(0, len(rows), CHUNK):
            some = rows.iloc[first : first + CHUNK]
            pks = some["pk"].tolist()
            found = (
                WrittenAnswer.objects.filter(judgment__in=pks).values_list(
                    "judgment_id", "text", "judgment__trial__item__expert_answer"
                )
                if of_people
                else Answer.objects.filter(pk__in=pks).values_list(
                    "pk", "text", "item__expert_answer"
                )
            )
            texts = {pk: (text, expert) for pk, text, expert in found.order_by()}
            known = [texts.get(pk, ("", "")) for pk in some["pk"]]
            chunk = pd.DataFrame(known, columns=["text", "expert_answer"])
            yield chunk.assign(answer=some.index.to_numpy())[chunk["text"].to_numpy() != ""]


CHUNK = 2_000  # rows with their texts at a time
LENGTHS = ("words", "characters")


def questions_shown(study: Study) -> QuerySet[Item]:
    return Item.objects.shown_by([study]).filter(kind=Item.Kind.QUESTION)


def read_questions(study: Study) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`questions` with their pk, by key and version, and `categories`, as in GradedData."""
    rows = questions_shown(study).order_by()
    wanted = ("pk", "key", "version", "template__key", "categories", "original", "expert_answer")
    found = [
        (pk, key, version, template or "", categories, *lengths(question), *lengths(answer))
        for pk, key, version, template, categories, question, answer in rows.values_list(
            *wanted
        ).iterator(chunk_size=CHUNK)
    ]
    names = ["pk", "key", "version", "template", "categories", *LENGTHS, *(f"answer_{n}" for n in LENGTHS)]  # fmt: skip
    questions = pd.DataFrame(found, columns=names).sort_values(
        ["key", "version"], ignore_index=True
    )
    categories = [
        (number, str(dimension), str(category))
        for number, own in enumerate(questions.pop("categories"))
        for dimension, several in own.items()
        for category in dict.fromkeys(several)
    ]
    table = pd.DataFrame(categories, columns=["question", "dimension", "category"])
    return questions.drop(columns="version"), table.astype({"question": np.int64})


def lengths(text: str) -> tuple[int, int]:
    """Words and characters.

    >>> lengths("Which gene is it?")
    (4, 17)
    """
    return len(text.split()), len(text)
