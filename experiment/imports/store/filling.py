"""A template filled from a table: what it makes, and how that becomes questions of its field."""

import hashlib
import random
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from django.db import transaction

from experiment.domain.questions.filling import (
    Filling,
    LeftOut,
    Pair,
    Reason,
    plain,
    sample,
)
from experiment.imports.read.questions import QuestionRecord, QuestionsFile
from experiment.imports.read.rows import MOST_ROWS
from experiment.imports.reading import filled_of, questions_of
from experiment.imports.store.question_plans import QuestionOptions
from experiment.imports.store.writing import import_file
from experiment.models import Item, QuestionTemplate
from experiment.models.items import item_hash
from experiment.services.fields import ensure_field
from experiment.services.questions import save_template, template_of

PREVIEWED = 20
GIVEN = frozenset({"key", "question", "answer", "template"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """n: pairs, None for all. strata: columns, or `rule` for the rule that gave the answer, over whose values the n are spread evenly.

    sheet: of a spreadsheet with several tables.
    """

    n: int | None = None
    strata: tuple[str, ...] = ()
    seed: int = 1
    unique_answers: bool = True
    sheet: str = ""


@dataclass(frozen=True)
class FilledTemplate:
    """table: SHA-256 of the file. pairs: those that were drawn of all in `filling`."""

    template: QuestionTemplate
    table: str
    n_rows: int
    filling: Filling
    pairs: Sequence[Pair]

    @property
    def as_file(self) -> QuestionsFile:
        """As questions of a file: the same pair has the same key, from whichever table and row."""
        return QuestionsFile([self._record(n, pair) for n, pair in enumerate(self.pairs, 1)])

    def _record(self, n: int, pair: Pair) -> QuestionRecord:
        row = self.template
        categories = dict(row.categories)
        return QuestionRecord(
            row=pair.row,
            line=n,
            given=GIVEN | {f"{name}_category" for name in categories},
            markup=pair.question,
            answer=pair.answer,
            categories=categories,
            key=key_of(row, pair),
            template=row.key,
            made_from={
                "table": self.table,
                "row": pair.row,
                "rule": pair.rule,
                "values": dict(pair.values),
                "sha256": item_hash(pair.question, pair.answer),
            },
        )


def fill_template(
    template: QuestionTemplate, data: bytes, wanted: Wanted, most: int = MOST_ROWS
) -> FilledTemplate:
    """The filled template from a table's bytes; of so many rows at most.

    Raises:
        ChooseSheetError: it is a spreadsheet of several tables.
        FileRefusedError: it is no table.
        TemplateFaultsError: rows that cannot be read, slots or strata that are no columns, or a template without texts.
    """
    unique = wanted.unique_answers
    table = filled_of(data, template_of(template), wanted.strata, unique, most, wanted.sheet)
    filling = _new_to_field(table.filling, template, unique)
    drawn = filling.pairs
    if wanted.n is not None:
        rng = random.Random(wanted.seed)
        drawn = sample(drawn, wanted.n, lambda pair: tuple(table.strata[pair.row]), rng)
    sha256 = hashlib.sha256(data).hexdigest()
    return FilledTemplate(template, sha256, table.n_rows, filling, drawn)


def _new_to_field(filling: Filling, template: QuestionTemplate, unique_answers: bool) -> Filling:
    """Without what other questions of the field ask, or those of the template are answered: another table may have made them."""
    rows = Item.objects.filter(field=template.field.name, kind=Item.Kind.QUESTION)
    asked: dict[str, set[str]] = defaultdict(set)
    answered: dict[str, set[str]] = defaultdict(set)
    columns = ("key", "markup", "expert_answer", "template_id")
    for item in rows.latest_versions().exclude(status=Item.Status.RETIRED).only(*columns):
        asked[plain(item.markup)].add(item.key)
        if unique_answers and item.template_id == template.pk:
            answered[plain(item.expert_answer)].add(item.key)
    own = {pair.row: key_of(template, pair) for pair in filling.pairs}
    # The answer of a question that this filling changes is free again
    changing = set(own.values())
    kept, left = [], list(filling.left_out)
    for pair in filling.pairs:
        other_asked = asked[plain(pair.question)] - {own[pair.row]}
        other_answered = answered[plain(pair.answer)] - changing
        if other_asked:
            left.append(LeftOut(pair.row, Reason.ASKED_ALREADY, min(other_asked)))
        elif other_answered:
            left.append(LeftOut(pair.row, Reason.ANSWERED_ALREADY, min(other_answered)))
        else:
            kept.append(pair)
    return replace(filling, pairs=kept, left_out=sorted(left, key=lambda one: one.row))


def key_of(template: QuestionTemplate, pair: Pair) -> str:
    """Named after the template and what is asked."""
    asked = "\n".join((template.field.slug, template.key, pair.question))
    start = "".join(c for c in template.key if not c.isspace() and c != "#")[:60]
    return f"{start}-{hashlib.sha256(asked.encode()).hexdigest()[:12]}"


FOLDER = Path(__file__).parents[2] / "demo"
BUILT_IN = QuestionOptions(
    accepted_before="Built in: written for this project from textbook values."
)


@cache
def _shipped() -> dict[str, Any]:
    with (FOLDER / "questions.toml").open("rb") as file:
        return tomllib.load(file)


@transaction.atomic
def ensure_questions() -> list[Item]:
    """The accepted built-in questions, created where missing, those of the templates first, in the order of the table."""
    shipped = _shipped()
    research_field = ensure_field("elements")
    data = (FOLDER / "elements.csv").read_bytes()
    keys: list[str] = []
    for entry in shipped["template"]:
        texts = {name: entry[name] for name in ("key", "question", "rules", "categories")}
        template = save_template(research_field, **texts, is_demo=True)
        wanted = Wanted(entry["n"], tuple(entry["strata"]), entry["seed"])
        filled = fill_template(template, data, wanted)
        import_file(filled.as_file, research_field, BUILT_IN, is_demo=True)
        keys += [key_of(template, pair) for pair in filled.pairs]
    own = questions_of((FOLDER / "questions.csv").read_bytes())
    keys += import_file(own, research_field, BUILT_IN, is_demo=True).keys
    accepted = Item.objects.accepted().filter(key__in=keys, kind=Item.Kind.QUESTION)
    newest = {item.key: item for item in accepted.order_by("version")}
    return [newest[key] for key in keys if key in newest]
