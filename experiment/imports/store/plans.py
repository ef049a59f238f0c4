"""The difference that a file makes to a field's items, as values: what is shown, agreed to and done. Nothing is written here."""

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, ClassVar, Generic

from django.contrib.auth.models import User
from django.db.models import Q

from experiment.domain.item_checks.findings import Finding, Level
from experiment.imports.read.records import R, Record, RecordsFile, Unnamed
from experiment.imports.read.rows import MOST_ROWS, RowProblem
from experiment.models import Item, ResearchField
from experiment.services.usable import kept_keys, known_items
from lib.formulas import guarded

Progress = Callable[[int], None]
MOST_NAMED = 20


def in_order(problems: Iterable[RowProblem]) -> list[RowProblem]:
    """By row; those of the whole file first."""
    return sorted(problems, key=lambda problem: problem.row or 0)


def unseen(_: int) -> None:
    """The progress that nobody is told of."""


class Action(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Change:
    """A value that an update changes, as texts; `column` by our names."""

    column: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class PlannedRow(Generic[R]):
    """The plan for a row. item: the version that it is compared with, None for a new one.

    note: what a person should know of it. findings: what the checks will say of the text. Neither keeps it from being done.
    """

    record: R
    action: Action
    item: Item | None = None
    changes: tuple[Change, ...] = ()
    note: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def in_place(self) -> bool:
        """True if a draft is changed; else an update makes a new version."""
        return self.item is not None and self.item.status == Item.Status.DRAFT

    @property
    def is_new(self) -> bool:
        return self.action == Action.CREATE

    @property
    def is_unchanged(self) -> bool:
        return self.action == Action.UNCHANGED

    @property
    def makes_version(self) -> bool:
        return self.action == Action.UPDATE and not self.in_place

    @property
    def is_accepted_only(self) -> bool:
        """True if the import accepts the item as it stands."""
        return self.action == Action.UPDATE and not self.changes


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence about a row. kind: read_as, note, or a level of the checks, whose `code` it has then."""

    row: int
    kind: str
    message: str
    code: str = ""

    @property
    def label(self) -> str:
        return {"read_as": "changed when it was read", "note": ""}.get(self.kind, self.kind)


@dataclass(frozen=True)
class Plan(Generic[R]):
    """The difference that a file makes. Nothing of it is done while there are problems.

    accept: why new and changed items are accepted at once; empty: they become drafts. missing_subfields: the one problem that a
    choice cures. is_checked: whether rows say what the
    checks find; many texts take minutes, and are checked where each is opened. gone: keys of questions that the field has
    and the file has not; they stay. keys: of the rows' items, once it is done.
    """

    research_field: ResearchField
    accept: str
    rows: Sequence[PlannedRow[R]] = ()
    problems: Sequence[RowProblem] = ()
    ignored: Sequence[str] = ()
    new_subfields: Sequence[str] = ()
    missing_subfields: Sequence[str] = ()
    is_checked: bool = False
    unnamed: Unnamed | None = None
    sheets: Sequence[str] = ()
    gone: Sequence[str] = ()
    new_templates: Sequence[str] = ()
    keys: Sequence[str] = ()

    def count(self, action: Action) -> int:
        return Counter(row.action for row in self.rows)[action]

    @property
    def changing(self) -> list[PlannedRow[R]]:
        return [row for row in self.rows if row.action != Action.UNCHANGED]

    @property
    def repeated(self) -> list[PlannedRow[R]]:
        """New questions that ask what another one asks."""
        return [row for row in self.rows if row.action == Action.CREATE and row.note]

    @property
    def waiting(self) -> list[PlannedRow[R]]:
        """Items in review as the file has them, which an import that accepts leaves to their reviewers."""
        return [
            row
            for row in self.rows
            if self.accept
            and row.action == Action.UNCHANGED
            and row.item is not None
            and row.item.status == Item.Status.IN_REVIEW
        ]

    @property
    def remarks(self) -> list[Remark]:
        """Remarks on rows that can be done, which a person should know, in their order."""
        remarks = []
        for row in self.rows:
            n = row.record.row
            remarks += [Remark(n, "read_as", said) for said in row.record.read_as]
            if row.note:
                remarks.append(Remark(n, "note", row.note))
            for found in row.findings:
                quoted = found.quote and found.quote not in found.message
                about = f": “{found.quote}”" if quoted else ""
                message = f"{found.message}{about}. {found.reason}".rstrip(". ")
                remarks.append(Remark(n, str(found.level), message, found.code))
        return remarks

    def count_checked(self, level: Level) -> int:
        """Rows of whose text the checks say something of this level."""
        return sum(any(f.level == level for f in row.findings) for row in self.rows)

    @property
    def fingerprint(self) -> str:
        """The same for the same rows, choices and state of the field's items."""
        choices = (self.research_field.pk, self.accept, self.new_subfields)
        digest = hashlib.sha256(repr(choices).encode())
        for row in self.rows:
            version = row.item and (row.item.pk, row.item.edits, row.item.status, row.item.sha256)
            changes = [(c.column, c.before, c.after) for c in row.changes]
            names = [f.name for f in fields(row.record) if f.name != "given"]
            values = [str(getattr(row.record, name)) for name in names]
            given = sorted(row.record.given)
            digest.update(json.dumps([row.action, version, changes, given, values]).encode())
        return digest.hexdigest()


_DECIMAL_KEY = re.compile(r"([0-9]+)\.0")


class _RefusedError(Exception):
    """A row cannot be done; the message says why."""

    def __init__(self, message: str, column: str) -> None:
        self.column = column
        super().__init__(message)


class Planner(Generic[R]):
    """Compares one row after the other with a field's items; `problems`, and `new_subfields` or `missing_subfields`, grow.

    versions: by key, the oldest first. taken: key -> the field whose item it is, of those that a row may not be about. hidden: keys
    of others that `by` may not be told of; a row with one, or with a new key that the site keeps, is read as a row without.
    """

    mine: ClassVar[Q]  # of the items of its field that a row may be about
    taken_as: ClassVar[str] = "“{key}” is a test case of {field}"

    def __init__(
        self,
        research_field: ResearchField,
        options: "Options[R]",
        *,
        by: User | None,
        locked: bool,
    ) -> None:
        self.research_field, self.accept = research_field, options.accepted_before
        self.may_make_subfields = options.new_subfields
        self.unit, self.locked = "row", locked
        self.problems: list[RowProblem] = []
        self.new_subfields: set[str] = set()
        self.missing_subfields: dict[str, R] = {}  # with the first row that names it
        self.subfields = set(research_field.subfields.values_list("name", flat=True))
        mine = Q(field=research_field.name) & self.mine
        rows = Item.objects.filter(mine).order_by("key", "version")
        self.versions: dict[str, list[Item]] = {}
        self.keys: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for item in rows.select_for_update(no_key=True) if locked else rows:
            self.versions.setdefault(item.key, []).append(item)
            for identity in self.identities(item):
                self.keys[identity].add(item.key)
        others = Item.objects.exclude(mine).order_by()
        told = others.filter(pk__in=known_items(by).values("pk"))
        self.taken = dict(told.values_list("key", "field"))
        self.hidden = set(others.values_list("key", flat=True)) - self.taken.keys()
        self.by = by
        self.met: dict[str, R] = {}  # by key of an item that is there
        self.has_decimal_keys = False

    def identities(self, item: Item | R) -> Iterator[tuple[str, ...]]:
        """By which a row without a key finds its item; the first that fits one decides."""
        raise NotImplementedError

    def differences(self, record: R, item: Item) -> tuple[Change, ...]:
        """Differences between the row and the version; about columns that it does not have, it says nothing."""
        raise NotImplementedError

    def note(self, record: R, item: Item | None) -> str:
        """A remark on a row that is new, or changes the item, which a person should know."""
        return ""

    def plan(self, file: RecordsFile[R], progress: Progress = unseen) -> Plan[R]:
        """The plan of a file: the rows that can be done, and a problem for each of the others."""
        self.unit = file.unit
        rows = self._rows(file.records, progress)
        plan = Plan(
            self.research_field,
            self.accept,
            rows,
            in_order([*file.problems, *self.problems]),
            file.ignored,
            new_subfields=sorted(self.new_subfields),
            missing_subfields=sorted(self.missing_subfields),
            unnamed=file.unnamed,
            sheets=file.sheets,
        )
        return self.completed(plan)

    def completed(self, plan: Plan[R]) -> Plan[R]:
        """With what only plans of this kind of items say."""
        return plan

    def _rows(self, records: Sequence[R], progress: Progress) -> list[PlannedRow[R]]:
        rows = []
        keys = [record.key for record in records if record.key]
        self.has_decimal_keys = bool(keys) and all(map(_DECIMAL_KEY.fullmatch, keys))
        records = list(map(self._with_whole_key, records))
        new = {record.key for record in records} - self.versions.keys() - self.taken.keys()
        self.hidden |= kept_keys(new, self.by)
        for n, record in enumerate(records, start=1):
            if record.subfield and record.subfield not in self.subfields:
                if self.may_make_subfields:
                    self.new_subfields.add(record.subfield)
                else:
                    self.missing_subfields.setdefault(record.subfield, record)
            if record.key in self.hidden:
                record = replace(record, key="")
            try:
                rows.append(self._planned(record))
            except _RefusedError as error:
                self.problems.append(record.problem(str(error), error.column))
            if n % 500 == 0:
                progress(n)
        if self.missing_subfields:
            names = sorted(self.missing_subfields)
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            listed = ", ".join(f"“{name}”" for name in names[:MOST_NAMED]) + more
            are = "is not a subfield" if len(names) == 1 else "are not subfields"
            first = next(iter(self.missing_subfields.values()))
            message = f"{listed} {are} of {self.research_field.name}"
            self.problems.append(first.problem(message, "subfield"))
        return rows

    def _with_whole_key(self, record: R) -> R:
        """With 1 for 1.0, as data frames write a column of numbers with an empty cell, unless there is a 1.0."""
        found = _DECIMAL_KEY.fullmatch(record.key)
        if not found or record.key in self.versions or record.key in self.taken:
            return record
        if not (found[1] in self.versions or self.has_decimal_keys):
            return record
        said = f"the key {record.key} was read as {found[1]}, a whole number that a program wrote with a decimal"
        return replace(record, key=found[1], read_as=(*record.read_as, said))

    def _planned(self, record: R) -> PlannedRow[R]:
        versions = self._find(record)
        if not versions:
            return PlannedRow(record, Action.CREATE, note=self.note(record, None))
        newest = versions[-1]
        first = self.met.setdefault(newest.key, record)
        if first is not record:
            raise _RefusedError(
                f"{self.unit} {first.row} also matches {newest.key}. Give the keys of both.", "key"
            )
        changes = self.differences(record, newest)
        if not changes and not (self.accept and newest.status == Item.Status.DRAFT):
            return self.unchanged(record, newest)
        older = next((v for v in versions[-2::-1] if not self.differences(record, v)), None)
        if changes and older is not None:
            note = f"as version {older.version} of {older.key}; the newer version {newest.version} does not change"
            return PlannedRow(record, Action.UNCHANGED, older, note=note)
        if 0 < record.version < newest.version:
            message = (
                f"comes from version {record.version}, but {newest} is newer. Export it again."
            )
            raise _RefusedError(message, "version")
        if newest.is_demo:
            raise _RefusedError(f"{newest.key} is built in and does not change", "key")
        if newest.status == Item.Status.IN_REVIEW:
            raise _RefusedError(f"{newest} is in review. Return it to draft first.", "key")
        return PlannedRow(record, Action.UPDATE, newest, changes, self.note(record, newest))

    def unchanged(self, record: R, item: Item) -> PlannedRow[R]:
        return PlannedRow(record, Action.UNCHANGED, item)

    def _find(self, record: R) -> Sequence[Item]:
        """The versions of the item that the row is about; empty for a new one."""
        if record.key in self.taken:
            field = self.taken[record.key] or "no field"
            raise _RefusedError(self.taken_as.format(key=record.key, field=field), "key")
        if record.key:
            return self.versions.get(record.key, ())
        for identity in self.identities(record):
            keys = sorted(self.keys.get(identity, ()))
            if len(keys) > 1:
                raise _RefusedError(f"could be {' or '.join(keys)}. Give the key.", "key")
            if keys:
                return self.versions[keys[0]]
        return ()


@dataclass(frozen=True, slots=True)
class Options(Generic[R]):
    """How a file is to be read and stored.

    accepted_before: why its items need no review here, where they were accepted elsewhere; empty: they become drafts.
    columns: our name, and what the file calls it. sheet: of a spreadsheet, empty for the one with these columns.
    """

    planner: ClassVar[type[Planner[Any]]]

    new_subfields: bool = False
    accepted_before: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    sheet: str = field(default="", kw_only=True)

    def read(self, data: bytes, most: int = MOST_ROWS) -> RecordsFile[R]:
        """The records of a file's bytes; of so many rows at most."""
        raise NotImplementedError

    def plan(
        self,
        file: RecordsFile[R],
        research_field: ResearchField,
        *,
        by: User | None,
        locked: bool = False,
        progress: Progress = unseen,
        total: Progress = unseen,
    ) -> Plan[R]:
        """Compare a file with the field's items; `locked` in the transaction that writes.

        by: who imports, to whom only what they may know of other fields is said. total, progress: told how many rows there are, and how many are
        compared.
        """
        total(len(file.records))
        planner = self.planner(research_field, self, by=by, locked=locked)
        return planner.plan(file, progress)


def same_value(before: Any, after: Any) -> bool:
    """True also where a data frame has written a whole number with a decimal, or kept the apostrophe of a CSV file.

    >>> same_value("4", "4.0"), same_value("4.0", "4"), same_value("=1", "'=1")
    (True, False, True)
    """
    if before == after or not (isinstance(before, str) and isinstance(after, str)):
        return bool(before == after)
    found = _DECIMAL_KEY.fullmatch(after)
    return after == guarded(before) or bool(found and found[1] == before)


def changes_of(record: Record, item: Item, names: Iterable[str]) -> Iterator[Change]:
    """Changes in the columns of these names that the row has."""
    for name in names:
        before, after = getattr(item, name), getattr(record, name)
        if name in record.given and not same_value(before, after):
            yield Change(name, str(before or ""), str(after or ""))
