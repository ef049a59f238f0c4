"""The difference that questions make to a field's. What is shown, agreed to and done; nothing is written here."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiment.domain.questions import made_from
from experiment.domain.questions.columns import DIMENSION, MADE_FROM, join
from experiment.domain.questions.filling import plain
from experiment.imports.read.items import RowProblem
from experiment.imports.read.questions.records import QuestionRecord, QuestionsFile
from experiment.imports.store.bulk.difference import Action, Change
from experiment.models import Item, QuestionTemplate, ResearchField

# What a row may say of a question besides its text, answer, template and categories
DETAILS = ("source", "generator", "subfield", "doi", "note")


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """What becomes of a row. item: the version that it is compared with, None for a new question."""

    record: QuestionRecord
    action: Action
    item: Item | None = None
    changes: tuple[Change, ...] = ()
    note: str = ""

    @property
    def in_place(self) -> bool:
        """Whether a draft is changed; else an update makes a new version."""
        return self.item is not None and self.item.status == Item.Status.DRAFT


@dataclass(frozen=True)
class QuestionPlan:
    """Nothing of it is done while there are problems.

    gone: keys of questions that the field has and the file has not; they stay. accept: why new and changed ones are accepted
    at once; empty: they become drafts. keys: of the rows' questions, once it is done.
    """

    research_field: ResearchField
    accept: str
    rows: Sequence[PlannedQuestion]
    problems: Sequence[RowProblem] = ()
    ignored: Sequence[str] = ()
    gone: Sequence[str] = ()
    new_templates: Sequence[str] = ()
    keys: Sequence[str] = ()

    def count(self, action: Action) -> int:
        return Counter(row.action for row in self.rows)[action]

    @property
    def repeated(self) -> list[PlannedQuestion]:
        """New questions that ask what another one asks."""
        return [row for row in self.rows if row.action == Action.CREATE and row.note]

    @property
    def waiting(self) -> list[PlannedQuestion]:
        """Questions in review as the file has them, which an import that accepts leaves to their reviewers."""
        return [
            row
            for row in self.rows
            if self.accept
            and row.action == Action.UNCHANGED
            and row.item is not None
            and row.item.status == Item.Status.IN_REVIEW
        ]

    @property
    def changing(self) -> list[PlannedQuestion]:
        return [row for row in self.rows if row.action != Action.UNCHANGED]

    @property
    def fingerprint(self) -> str:
        """The same for the same rows, choice and state of the field's questions."""
        digest = hashlib.sha256(repr((self.research_field.pk, self.accept)).encode())
        for row in self.rows:
            version = row.item and (row.item.pk, row.item.edits, row.item.status, row.item.sha256)
            changes = [(c.column, c.before, c.after) for c in row.changes]
            texts = [row.record.key, row.record.question, row.record.answer]
            record = [*texts, row.record.template, dict(row.record.categories)]
            digest.update(json.dumps([row.action, version, changes, record]).encode())
        return digest.hexdigest()


class _RefusedError(Exception):
    """A row cannot be done; the message says why."""

    def __init__(self, message: str, column: str) -> None:
        self.column = column
        super().__init__(message)


def plan_questions(
    file: QuestionsFile, research_field: ResearchField, accept: str = "", *, locked: bool = False
) -> QuestionPlan:
    """Compare rows with the field's questions; `locked` in the transaction that writes."""
    planner = _Planner(research_field, accept, locked)
    problems, rows = list(file.problems), []
    for record in file.records:
        try:
            rows.append(planner.plan(record))
        except _RefusedError as error:
            problems.append(record.problem(str(error), error.column))
    met = {row.item.key for row in rows if row.item}
    templates = dict.fromkeys(row.record.template for row in rows if row.record.template)
    return QuestionPlan(
        research_field,
        accept,
        rows,
        sorted(problems, key=lambda problem: problem.row or 0),
        file.ignored,
        [
            key
            for key, v in planner.versions.items()
            if key not in met and v[-1].status != "retired"
        ],
        sorted(templates.keys() - {*planner.template_keys.values()}),
    )


class _Planner:
    def __init__(self, research_field: ResearchField, accept: str, locked: bool) -> None:
        self.research_field, self.accept = research_field, accept
        self.subfields = set(research_field.subfields.values_list("name", flat=True))
        templates = QuestionTemplate.objects.filter(field=research_field)
        self.template_keys: dict[int, str] = dict(templates.values_list("pk", "key"))
        rows = Item.objects.filter(field=research_field.name, kind=Item.Kind.QUESTION)
        rows = rows.order_by("key", "version")
        self.versions: dict[str, list[Item]] = {}
        for item in rows.select_for_update(no_key=True) if locked else rows:
            self.versions.setdefault(item.key, []).append(item)
        self.by_text: dict[str, set[str]] = defaultdict(set)
        for key, versions in self.versions.items():
            for item in versions:
                self.by_text[item.markup].add(key)
        self.asked: dict[str, str] = {}
        for key, versions in self.versions.items():
            if versions[-1].status != Item.Status.RETIRED:
                self.asked.setdefault(plain(versions[-1].markup), key)
        others = Item.objects.exclude(field=research_field.name, kind=Item.Kind.QUESTION)
        self.taken = dict(others.order_by().values_list("key", "field"))
        self.met: dict[str, QuestionRecord] = {}

    def plan(self, record: QuestionRecord) -> PlannedQuestion:
        """Raises _RefusedError where the row cannot be done."""
        if record.subfield and record.subfield not in self.subfields:
            message = f"“{record.subfield}” is no subfield of {self.research_field.name}"
            raise _RefusedError(message, "subfield")
        versions = self._versions_of(record)
        if not versions:
            return PlannedQuestion(record, Action.CREATE, note=self._asked_already(record))
        newest = versions[-1]
        if self.met.setdefault(newest.key, record) is not record:
            message = (
                f"row {self.met[newest.key].row} is about {newest.key} too: give the keys of both"
            )
            raise _RefusedError(message, "key")
        changes = self._differences(record, newest)
        is_acceptable = bool(self.accept) and newest.status == Item.Status.DRAFT
        if not changes and not is_acceptable:
            waits = bool(self.accept) and newest.status == Item.Status.IN_REVIEW
            note = "is in review: this import does not accept it" if waits else ""
            return PlannedQuestion(record, Action.UNCHANGED, newest, note=note)
        older = next((v for v in versions[-2::-1] if not self._differences(record, v)), None)
        if changes and older is not None:
            note = f"as version {older.version} of {older.key}; version {newest.version}, which is newer, stays"
            return PlannedQuestion(record, Action.UNCHANGED, older, note=note)
        _check_changeable(record, newest)
        return PlannedQuestion(record, Action.UPDATE, newest, changes)

    def _versions_of(self, record: QuestionRecord) -> Sequence[Item]:
        """By its key; without one, by the question's text."""
        if record.key in self.taken:
            field = self.taken[record.key] or "no field"
            raise _RefusedError(f"“{record.key}” is a test case of {field}, or no question", "key")
        if record.key:
            return self.versions.get(record.key, ())
        keys = sorted(self.by_text.get(record.question, ()))
        if len(keys) > 1:
            raise _RefusedError(f"could be {' or '.join(keys)}: give the key", "key")
        return self.versions[keys[0]] if keys else ()

    def _asked_already(self, record: QuestionRecord) -> str:
        """Of a new question, which other asks the same; a file's keys may well mean it so."""
        words = plain(record.question)
        other = self.asked.setdefault(words, record.key or f"row {record.row}")
        return "" if other == (record.key or f"row {record.row}") else f"asks what {other} asks"

    def _differences(self, record: QuestionRecord, item: Item) -> tuple[Change, ...]:
        """What the row says otherwise than the version; about columns that it does not have, it says nothing."""
        pairs: dict[str, tuple[Any, Any]] = {
            "question": (item.markup, record.question),
            "answer": (item.expert_answer, record.answer),
            "template": (self.template_keys.get(item.template_id or 0, ""), record.template),
            **{name: (getattr(item, name), getattr(record, name)) for name in DETAILS},
            MADE_FROM: (made_from.written(item.made_from), made_from.written(record.made_from)),
        }
        found = [
            Change(name, str(before), str(after))
            for name, (before, after) in pairs.items()
            if name in record.given and before != after
        ]
        return (*found, *_other_categories(record, item))


def merged_categories(record: QuestionRecord, item: Item) -> Mapping[str, Sequence[str]]:
    """The version's, with what the row says of the dimensions that it has."""
    kept = {n: v for n, v in item.categories.items() if f"{n}{DIMENSION}" not in record.given}
    return kept | dict(record.categories)


def _other_categories(record: QuestionRecord, item: Item) -> list[Change]:
    after = merged_categories(record, item)
    names = dict.fromkeys([*item.categories, *after])
    cells = [
        (f"{n}{DIMENSION}", join(item.categories.get(n, ())), join(after.get(n, ()))) for n in names
    ]
    return [Change(*cell) for cell in cells if cell[1] != cell[2]]


def _check_changeable(record: QuestionRecord, newest: Item) -> None:
    if 0 < record.version < newest.version:
        message = f"was taken from version {record.version}, and {newest} is newer: export it again"
        raise _RefusedError(message, "version")
    if newest.is_demo:
        raise _RefusedError(f"{newest.key} is built in and does not change", "key")
    if newest.status == Item.Status.IN_REVIEW:
        raise _RefusedError(f"{newest} is in review: take it back to draft first", "key")
