"""A study's questions: lengths of their texts, templates and categories."""

import numpy as np
import pandas as pd
from django.db.models import QuerySet

from experiment.models import Item, Study

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
