"""The difference that questions make to a field's."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from django.db.models import Q

from experiment.domain.looks import looks
from experiment.domain.questions import made_from
from experiment.domain.questions.columns import DIMENSION, MADE_FROM, join
from experiment.domain.questions.filling import plain
from experiment.imports.read.questions import QuestionRecord, QuestionsFile
from experiment.imports.read.rows import MOST_ROWS
from experiment.imports.reading import questions_of
from experiment.imports.store.plans import (
    Action,
    Change,
    Options,
    Plan,
    PlannedRow,
    Planner,
    changes_of,
    same_value,
)
from experiment.models import Item, QuestionTemplate, ResearchField

QuestionPlan = Plan[QuestionRecord]


class _Planner(Planner[QuestionRecord]):
    mine: ClassVar[Q] = Q(kind=Item.Kind.QUESTION)
    taken_as: ClassVar[str] = f"{Planner.taken_as}, or no question"

    def __init__(
        self, research_field: ResearchField, options: Options[QuestionRecord], **how: Any
    ) -> None:
        super().__init__(research_field, options, **how)
        templates = QuestionTemplate.objects.filter(field=research_field)
        self.template_keys: dict[int, str] = dict(templates.values_list("pk", "key"))
        self.asked: dict[str, str] = {}
        for key, versions in self.versions.items():
            if versions[-1].status != Item.Status.RETIRED:
                self.asked.setdefault(plain(versions[-1].markup), key)

    def identities(self, item: Item | QuestionRecord) -> Iterator[tuple[str, ...]]:
        yield (looks(item.markup),)

    def unchanged(self, record: QuestionRecord, item: Item) -> PlannedRow[QuestionRecord]:
        waits = bool(self.accept) and item.status == Item.Status.IN_REVIEW
        note = "is in review, so this import does not accept it" if waits else ""
        return PlannedRow(record, Action.UNCHANGED, item, note=note)

    def note(self, record: QuestionRecord, item: Item | None) -> str:
        """A remark on a new question, which other asks the same; a file's keys may well mean it so."""
        if item is not None:
            return ""
        name = record.key or f"row {record.row}"
        other = self.asked.setdefault(plain(record.question), name)
        return "" if other == name else f"asks the same as {other}"

    def differences(self, record: QuestionRecord, item: Item) -> tuple[Change, ...]:
        texts: dict[str, tuple[Any, Any]] = {
            "question": (item.markup, record.question),
            "answer": (item.expert_answer, record.answer),
            "template": (self.template_keys.get(item.template_id or 0, ""), record.template),
        }
        after = merged_categories(record, item)
        names = dict.fromkeys([*item.categories, *after])
        cells = [
            (f"{n}{DIMENSION}", join(item.categories.get(n, ())), join(after.get(n, ())))
            for n in names
        ]
        source = (made_from.written(item.made_from), made_from.written(record.made_from))
        return (
            *_changes(record, texts),
            *changes_of(record, item, record.DETAILS),
            *_changes(record, {MADE_FROM: source}),
            *(Change(*cell) for cell in cells if cell[1] != cell[2]),
        )

    def completed(self, plan: QuestionPlan) -> QuestionPlan:
        """With the field's questions that are not in the file, and templates that the field does not have."""
        met = {row.item.key for row in plan.rows if row.item}
        newest = {key: versions[-1] for key, versions in self.versions.items() if key not in met}
        templates = {row.record.template for row in plan.rows} - {""}
        return replace(
            plan,
            gone=[key for key, item in newest.items() if item.status != Item.Status.RETIRED],
            new_templates=sorted(templates - {*self.template_keys.values()}),
        )


@dataclass(frozen=True, slots=True)
class QuestionOptions(Options[QuestionRecord]):
    """Options for questions."""

    planner: ClassVar[type[Planner[QuestionRecord]]] = _Planner

    def read(self, data: bytes, most: int = MOST_ROWS) -> QuestionsFile:
        return questions_of(data, self.columns, most, self.sheet)


def _changes(record: QuestionRecord, pairs: Mapping[str, tuple[str, str]]) -> Iterator[Change]:
    for name, (before, after) in pairs.items():
        if name in record.given and not same_value(before, after):
            yield Change(name, before, after)


def merged_categories(record: QuestionRecord, item: Item) -> Mapping[str, Sequence[str]]:
    """The version's, with what the row says of the dimensions that it has."""
    kept = {n: v for n, v in item.categories.items() if f"{n}{DIMENSION}" not in record.given}
    return kept | dict(record.categories)
