"""The plan of an import of test cases, row by row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from django.db.models import Q
from django.utils import timezone

from experiment.domain.item_checks.findings import Facts, Level
from experiment.domain.item_checks.text import check_text
from experiment.domain.looks import looks, typed_with
from experiment.domain.markup import parse
from experiment.imports.read.items import BY_PEOPLE, Defaults, ItemRecord, ItemsFile
from experiment.imports.read.rows import MOST_ROWS, RowProblem
from experiment.imports.reading import items_of
from experiment.imports.store.plans import (
    Action,
    Change,
    Options,
    Plan,
    PlannedRow,
    Planner,
    changes_of,
    in_order,
)
from experiment.models import Item, ResearchField

TEXT = frozenset({"markup", "original", "altered"})
# More texts than these are not checked, but where they would be accepted at once
MOST_CHECKED = 1_000

ItemRow = PlannedRow[ItemRecord]
ItemPlan = Plan[ItemRecord]


class _Planner(Planner[ItemRecord]):
    mine: ClassVar[Q] = ~Q(kind=Item.Kind.QUESTION)

    def identities(self, item: Item | ItemRecord) -> Iterator[tuple[str, ...]]:
        """Its source with both texts as they look, with the original text, or with the DOI."""
        original = looks(item.original)
        yield "texts", item.source, original, looks(item.altered)
        yield "original", item.source, original
        if item.doi:
            yield "doi", item.source, item.doi.lower()

    def differences(self, record: ItemRecord, item: Item) -> tuple[Change, ...]:
        if not record.given & TEXT:
            is_other = False
        elif _texts_of(record) != _texts_of(item):
            # What the reading itself wrote otherwise is no change that the file makes
            is_other = not (record.read_as and _look_the_same(record, item))
        elif "markup" not in record.given or record.markup == item.markup:
            is_other = False
        else:
            # Other words set against each other are another test case; another spelling is none
            is_other = parse(record.markup).segments != item.segments
        text = [Change("markup", item.markup, record.markup)] if is_other else []
        return (*text, *changes_of(record, item, record.DETAILS))

    def note(self, record: ItemRecord, item: Item | None) -> str:
        if record.is_damaged:
            return "its published versions differ from its published markup"
        if item is None or _texts_of(record) == _texts_of(item) or not _look_the_same(record, item):
            return ""
        signs = typed_with(" ".join(_texts_of(record)), " ".join(_texts_of(item)))
        return f"looks the same as {item} and differs only in {signs}"

    def completed(self, plan: ItemPlan) -> ItemPlan:
        """With what the checks say, where texts are to be accepted at once or are few."""
        if not self.accept and (self.locked or len(plan.changing) > MOST_CHECKED):
            return plan
        rows = [_checked(row, self.research_field) for row in plan.rows]
        problems = in_order([*plan.problems, *(_unacceptable(rows) if self.accept else ())])
        return replace(plan, rows=rows, problems=problems, is_checked=True)


@dataclass(frozen=True, slots=True)
class ItemOptions(Options[ItemRecord]):
    """Options for test cases."""

    planner: ClassVar[type[Planner[ItemRecord]]] = _Planner

    defaults: Defaults = BY_PEOPLE

    def read(self, data: bytes, most: int = MOST_ROWS) -> ItemsFile:
        return items_of(data, self.defaults, self.columns, most, sheet=self.sheet)


AS_DRAFTS = ItemOptions()


def _texts_of(one: ItemRecord | Item) -> tuple[str, str]:
    return one.original, one.altered


def _look_the_same(record: ItemRecord, item: Item) -> bool:
    return [*map(looks, _texts_of(record))] == [*map(looks, _texts_of(item))]


def _checked(row: ItemRow, research_field: ResearchField) -> ItemRow:
    """With what the checks say of its text; other test cases that are nearly the same are looked for on its page."""
    if row.action == Action.UNCHANGED:
        return row
    record = row.record
    facts = Facts(
        field=research_field.name,
        key=row.item.key if row.item else record.key,
        kind=record.kind,
        source=record.source,
        doi=record.doi,
        publication_date=record.publication_date,
    )
    return replace(row, findings=tuple(check_text(record.markup, facts, timezone.localdate())))


def _unacceptable(rows: Sequence[ItemRow]) -> Iterator[RowProblem]:
    """Problems of rows that no reviewer may pass: an import does not accept them either."""
    for row in rows:
        errors = [finding for finding in row.findings if finding.level == Level.ERROR]
        if errors:
            yield row.record.problem(f"the checks find: {errors[0].message}", "markup")
