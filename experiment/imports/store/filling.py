"""A template filled from a table: what it makes, and how that becomes questions of its field."""

import hashlib
import random
import tomllib
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
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
    TemplateFaultsError,
    fill,
    plain,
    sample,
)
from experiment.domain.questions.values import slot_name
from experiment.imports.read.questions import QuestionRecord, QuestionsFile, read_questions
from experiment.imports.read.rows import RowProblem, Table, read_rows
from experiment.imports.store.writing import import_questions
from experiment.models import Item, QuestionTemplate, ResearchField
from experiment.models.items import item_hash
from experiment.services.questions import save_template, template_of

RULE = "rule"  # a stratum that every table has: which rule gave the answer
PREVIEWED = 20
GIVEN = frozenset({"key", "question", "answer", "template"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """n: pairs, None for all. strata: columns, or `rule`, over whose values the n are spread evenly."""

    n: int | None = None
    strata: tuple[str, ...] = ()
    seed: int = 1
    unique_answers: bool = True


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


def fill_template(template: QuestionTemplate, data: bytes, wanted: Wanted) -> FilledTemplate:
    """Of a table's bytes: CSV, JSON lines or Parquet.

    Raises:
        FileRefusedError: it is no table.
        TemplateFaultsError: rows that cannot be read, slots or strata that are no columns, or a template without texts.
    """
    table = read_rows(data, ())
    if table.problems:
        raise TemplateFaultsError([_said(problem) for problem in table.problems[:20]])
    rows = _full_rows(table)
    names = [slot_name(column) for column in table.columns]
    if unknown := [name for name in wanted.strata if name not in (*names, RULE)]:
        raise TemplateFaultsError(
            [
                f"the table does not have a column “{name}” (columns: {', '.join(names)})"
                for name in unknown
            ]
        )
    filling = fill(template_of(template), rows, unique_answers=wanted.unique_answers)
    filling = _new_to_field(filling, template, wanted.unique_answers)
    return FilledTemplate(
        template,
        hashlib.sha256(data).hexdigest(),
        len(rows),
        filling,
        _drawn(filling.pairs, rows, names, wanted),
    )


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


def _full_rows(table: Table) -> list[Mapping[str, str]]:
    return [{name: row.cells.get(name, "") for name in table.columns} for row in table.rows]


def _drawn(
    pairs: Sequence[Pair], rows: Sequence[Mapping[str, str]], names: Sequence[str], wanted: Wanted
) -> Sequence[Pair]:
    if wanted.n is None:
        return pairs

    def stratum(pair: Pair) -> Hashable:
        cells = dict(zip(names, rows[pair.row - 1].values(), strict=True))
        return tuple(cells[name] if name in cells else str(pair.rule) for name in wanted.strata)

    return sample(pairs, wanted.n, stratum, random.Random(wanted.seed))


def _said(problem: RowProblem) -> str:
    return f"the table: {problem}"


FOLDER = Path(__file__).parents[2] / "demo"
ACCEPTED = "Built in: written for this project from textbook values."


@cache
def _shipped() -> dict[str, Any]:
    with (FOLDER / "questions.toml").open("rb") as file:
        return tomllib.load(file)


@transaction.atomic
def ensure_questions() -> list[Item]:
    """The accepted built-in questions, created where missing, those of the templates first, in the order of the table."""
    shipped = _shipped()
    named = shipped["field"]
    research_field = ResearchField.objects.filter(slug=named["slug"]).first()
    research_field = research_field or ResearchField.objects.create(**named)
    data = (FOLDER / "elements.csv").read_bytes()
    keys: list[str] = []
    for entry in shipped["template"]:
        texts = {name: entry[name] for name in ("key", "question", "rules", "categories")}
        template = save_template(research_field, **texts, is_demo=True)
        wanted = Wanted(entry["n"], tuple(entry["strata"]), entry["seed"])
        filled = fill_template(template, data, wanted)
        import_questions(filled.as_file, research_field, ACCEPTED, is_demo=True)
        keys += [key_of(template, pair) for pair in filled.pairs]
    own = read_questions((FOLDER / "questions.csv").read_bytes())
    keys += import_questions(own, research_field, ACCEPTED, is_demo=True).keys
    accepted = Item.objects.accepted().filter(key__in=keys, kind=Item.Kind.QUESTION)
    newest = {item.key: item for item in accepted.order_by("version")}
    return [newest[key] for key in keys if key in newest]
