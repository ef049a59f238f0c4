"""What an import of a file would do, row by row. Nothing is written here."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from django.utils import timezone

from experiment.domain.item_checks import Facts, Finding, Level, check_text
from experiment.domain.markup import parse
from experiment.imports.read.items import (
    BY_PEOPLE,
    Defaults,
    ItemRecord,
    ItemsFile,
    RowProblem,
    read_items,
)
from experiment.imports.store.bulk.known import Known
from experiment.models import Item, ResearchField

Progress = Callable[[int], None]
# What a row may say of a test case besides its text
DETAILS = ("kind", "source", "generator", "subfield", "doi", "publication_date", "note")
MOST_CHECKED = 1_000
TEXT = frozenset({"markup", "original", "altered"})


class Action(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Options:
    """How a file is to be read and stored.

    accepted_before: why its test cases need no review here, where they were accepted elsewhere; empty: they become drafts.
    """

    defaults: Defaults = BY_PEOPLE
    new_subfields: bool = False
    accepted_before: str = ""


AS_DRAFTS = Options()


@dataclass(frozen=True, slots=True)
class Change:
    """A value that an update changes, as texts; `column` by our names."""

    column: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """What becomes of a row. item: the version that it is compared with, None for a new test case.

    note: what a person should know of it. findings: what the checks will say of the text. Neither keeps it from being done.
    """

    record: ItemRecord
    action: Action
    item: Item | None = None
    changes: tuple[Change, ...] = ()
    note: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def in_place(self) -> bool:
        """Whether a draft is changed; else an update makes a new version."""
        return self.item is not None and self.item.status == Item.Status.DRAFT


@dataclass(frozen=True)
class ImportPlan:
    """The difference that a file makes. Nothing of it is done while there are problems.

    is_checked: whether rows say what the checks find; many texts take minutes, and are checked where each is opened.
    """

    research_field: ResearchField
    options: Options
    rows: Sequence[PlannedRow]
    ignored: Sequence[str] = ()
    new_subfields: Sequence[str] = ()
    problems: list[RowProblem] = field(default_factory=list)
    is_checked: bool = False

    def count(self, action: Action) -> int:
        return Counter(row.action for row in self.rows)[action]

    @property
    def changing(self) -> list[PlannedRow]:
        return [row for row in self.rows if row.action != Action.UNCHANGED]

    def count_checked(self, level: Level) -> int:
        """Rows of whose text the checks say something of this level."""
        return sum(any(f.level == level for f in row.findings) for row in self.rows)

    @property
    def fingerprint(self) -> str:
        """The same for the same file, options and state of the field's test cases."""
        digest = hashlib.sha256(repr((self.research_field.pk, self.options)).encode())
        for row in self.rows:
            version = row.item and (row.item.pk, row.item.edits, row.item.status, row.item.sha256)
            given = sorted(row.record.given)
            said = [
                row.action,
                version,
                given,
                [(c.column, c.before, c.after) for c in row.changes],
            ]
            digest.update(json.dumps([said, row.record.markup, row.record.key]).encode())
        return digest.hexdigest()


def plan_import(
    data: bytes,
    research_field: ResearchField,
    options: Options = AS_DRAFTS,
    *,
    locked: bool = False,
    progress: Progress = lambda done: None,
    total: Progress = lambda n: None,
) -> ImportPlan:
    """Compare a file's bytes with the field's test cases; `locked` in the transaction that writes.

    total, progress: told how many rows there are, and how many are compared.
    """
    file = read_items(data, options.defaults)
    total(len(file.records))
    known = Known.of(research_field, locked=locked)
    planner = _Planner(file, known, options)
    rows = []
    for n, record in enumerate(file.records, start=1):
        if row := planner.plan(record):
            rows.append(row)
        if n % 500 == 0:
            progress(n)
    changing = sum(row.action != Action.UNCHANGED for row in rows)
    is_checked = bool(options.accepted_before) or (not locked and changing <= MOST_CHECKED)
    if is_checked:
        rows = [_checked(row, research_field) for row in rows]
    if options.accepted_before:
        planner.problems += _unacceptable(rows)
    problems = sorted(planner.problems, key=lambda problem: problem.row or 0)
    subfields = sorted(planner.new_subfields)
    return ImportPlan(research_field, options, rows, file.ignored, subfields, problems, is_checked)


def _checked(row: PlannedRow, research_field: ResearchField) -> PlannedRow:
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
    found = check_text(record.markup, facts, timezone.localdate())
    return replace(row, findings=tuple(found))


def _unacceptable(rows: Sequence[PlannedRow]) -> Iterator[RowProblem]:
    """What no reviewer may pass, an import does not accept either."""
    for row in rows:
        errors = [finding for finding in row.findings if finding.level == Level.ERROR]
        if errors:
            yield row.record.problem(f"the checks find: {errors[0].message}", "markup")


class _Planner:
    """Plans one row after the other; `problems` and `new_subfields` grow."""

    def __init__(self, file: ItemsFile, known: Known, options: Options) -> None:
        self.known, self.options = known, options
        self.problems = list(file.problems)
        self.new_subfields: set[str] = set()
        self.met: dict[str, ItemRecord] = {}  # by key of a test case that is there

    def plan(self, record: ItemRecord) -> PlannedRow | None:
        """None, with a problem, where the row cannot be done."""
        self._check_subfield(record)
        try:
            versions = self.known.find(record)
        except LookupError as error:
            return self._refuse(record, str(error), "key")
        if not versions:
            return self._planned(record, Action.CREATE)
        newest = versions[-1]
        first = self.met.setdefault(newest.key, record)
        if first is not record:
            message = f"row {first.row} is about {newest.key} too: give the keys of both"
            return self._refuse(record, message, "key")
        return self._compare(record, versions)

    def _compare(self, record: ItemRecord, versions: Sequence[Item]) -> PlannedRow | None:
        newest = versions[-1]
        changes = differences(record, newest)
        if not changes and not (self.options.accepted_before and newest.status == "draft"):
            return PlannedRow(record, Action.UNCHANGED, newest)
        if changes:
            for older in reversed(versions[:-1]):
                if not differences(record, older):
                    note = f"as version {older.version} of {older.key}; version {newest.version}, which is newer, stays"
                    return PlannedRow(record, Action.UNCHANGED, older, note=note)
        if 0 < record.version < newest.version:
            message = (
                f"was taken from version {record.version}, and {newest} is newer: export it again"
            )
            return self._refuse(record, message, "version")
        if newest.is_demo:
            return self._refuse(record, f"{newest.key} is built in and does not change", "key")
        if newest.status == Item.Status.IN_REVIEW:
            return self._refuse(
                record, f"{newest} is in review: take it back to draft first", "key"
            )
        return self._planned(record, Action.UPDATE, newest, changes)

    def _planned(
        self,
        record: ItemRecord,
        action: Action,
        item: Item | None = None,
        changes: tuple[Change, ...] = (),
    ) -> PlannedRow:
        return PlannedRow(record, action, item, changes, _damage(record))

    def _check_subfield(self, record: ItemRecord) -> None:
        name = record.subfield
        if not name or name in self.known.subfields:
            return
        if self.options.new_subfields:
            self.new_subfields.add(name)
        else:
            message = f"“{name}” is no subfield of {self.known.research_field.name}"
            self.problems.append(record.problem(message, "subfield"))

    def _refuse(self, record: ItemRecord, message: str, column: str) -> None:
        self.problems.append(record.problem(message, column))


def differences(record: ItemRecord, item: Item) -> tuple[Change, ...]:
    """What the row says otherwise than the version; about columns that the file does not have, it says nothing."""
    changes = []
    if record.given & TEXT and _is_another_text(record, item):
        changes.append(Change("markup", item.markup, record.markup))
    for name in DETAILS:
        if name in record.given:
            before, after = getattr(item, name), getattr(record, name)
            if before != after:
                changes.append(Change(name, str(before or ""), str(after or "")))
    return tuple(changes)


def _is_another_text(record: ItemRecord, item: Item) -> bool:
    if (record.original, record.altered) != (item.original, item.altered):
        return True
    # The same texts with other words set against each other are another test case; another spelling is none
    if "markup" not in record.given or record.markup == item.markup:
        return False
    return parse(record.markup).segments != item.segments


def _damage(record: ItemRecord) -> str:
    return (
        "its published versions are not what its published markup says" if record.is_damaged else ""
    )
