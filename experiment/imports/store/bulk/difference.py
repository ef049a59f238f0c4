"""The difference that a file makes to a field's test cases, as values. What is shown, agreed to and done."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from experiment.domain.item_checks import Finding, Level
from experiment.imports.read.items import BY_PEOPLE, Defaults, ItemRecord, RowProblem
from experiment.models import Item, ResearchField


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
