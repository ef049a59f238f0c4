"""Compares rows of a file with the test cases that they are about."""

from collections.abc import Sequence

from experiment.domain.markup import parse
from experiment.imports.read.items import ItemRecord, ItemsFile
from experiment.imports.store.bulk.difference import Action, Change, Options, PlannedRow
from experiment.imports.store.bulk.known import Known
from experiment.models import Item

# What a row may say of a test case besides its text
DETAILS = ("kind", "source", "generator", "subfield", "doi", "publication_date", "note")
TEXT = frozenset({"markup", "original", "altered"})


class _RefusedError(Exception):
    """A row cannot be done; the message says why."""

    def __init__(self, message: str, column: str) -> None:
        self.column = column
        super().__init__(message)


class Planner:
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
            return (
                self._compare(record, versions)
                if versions
                else PlannedRow(record, Action.CREATE, note=_damage(record))
            )
        except LookupError as error:
            self.problems.append(record.problem(str(error), "key"))
        except _RefusedError as error:
            self.problems.append(record.problem(str(error), error.column))
        return None

    def _compare(self, record: ItemRecord, versions: Sequence[Item]) -> PlannedRow:
        newest = versions[-1]
        first = self.met.setdefault(newest.key, record)
        if first is not record:
            raise _RefusedError(
                f"row {first.row} is about {newest.key} too: give the keys of both", "key"
            )
        changes = differences(record, newest)
        if not changes and not (self.options.accepted_before and newest.status == "draft"):
            return PlannedRow(record, Action.UNCHANGED, newest)
        if changes:
            for older in reversed(versions[:-1]):
                if not differences(record, older):
                    note = f"as version {older.version} of {older.key}; version {newest.version}, which is newer, stays"
                    return PlannedRow(record, Action.UNCHANGED, older, note=note)
        _check_changeable(record, newest)
        return PlannedRow(record, Action.UPDATE, newest, changes, _damage(record))

    def _check_subfield(self, record: ItemRecord) -> None:
        name = record.subfield
        if not name or name in self.known.subfields:
            return
        if self.options.new_subfields:
            self.new_subfields.add(name)
        else:
            message = f"“{name}” is no subfield of {self.known.research_field.name}"
            self.problems.append(record.problem(message, "subfield"))


def _check_changeable(record: ItemRecord, newest: Item) -> None:
    if 0 < record.version < newest.version:
        message = f"was taken from version {record.version}, and {newest} is newer: export it again"
        raise _RefusedError(message, "version")
    if newest.is_demo:
        raise _RefusedError(f"{newest.key} is built in and does not change", "key")
    if newest.status == Item.Status.IN_REVIEW:
        raise _RefusedError(f"{newest} is in review: take it back to draft first", "key")


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
