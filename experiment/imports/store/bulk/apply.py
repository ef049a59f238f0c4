"""Does what a plan says, all of it or nothing, with the history of each test case."""

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from experiment.imports.store.bulk.compare import DETAILS
from experiment.imports.store.bulk.difference import AS_DRAFTS, ImportPlan, Options, PlannedRow
from experiment.imports.store.bulk.plan import Progress, plan_import
from experiment.models import Item, ItemChange, ResearchField, Subfield
from experiment.services import audit
from experiment.services.curation.drafts import unused_key
from experiment.services.curation.lifecycle import CARRIED_FIELDS

BATCH = 500
# Columns of a draft that may change
WRITTEN = (*DETAILS, "markup", "original", "altered", "sha256", "edits", "status")
Status = Item.Status


class PlanRefusedError(Exception):
    """Nothing was written: `plan` has problems, or is not the one that was shown."""

    def __init__(self, plan: ImportPlan) -> None:
        self.plan = plan
        super().__init__("problems" if plan.problems else "changed")


@transaction.atomic
def import_items(
    data: bytes,
    research_field: ResearchField,
    options: Options = AS_DRAFTS,
    *,
    by: User | None = None,
    shown: str | None = None,
    progress: Progress = lambda done: None,
) -> ImportPlan:
    """Plan again, with the field's test cases locked, and do it. `shown`: the fingerprint of the plan that a person agreed to.

    Raises:
        PlanRefusedError: it has problems, or is another plan than the one that was shown.
    """
    # New drafts take their numbers one after the other, whoever makes them
    ResearchField.objects.select_for_update(no_key=True).get(pk=research_field.pk)
    plan = plan_import(data, research_field, options, locked=True)
    if plan.problems or (shown is not None and shown != plan.fingerprint):
        raise PlanRefusedError(plan)
    Subfield.objects.bulk_create(
        Subfield(field=research_field, name=name) for name in plan.new_subfields
    )
    writer = _Writer(plan, by)
    done = len(plan.rows) - len(plan.changing)
    for batch in _batches(plan.changing):
        writer.write(batch)
        done += len(batch)
        progress(done)
    if options.accepted_before and plan.changing:
        audit.record(
            audit.Action.ITEM_ACCEPTED,
            by=by,
            reason=options.accepted_before,
            field=research_field.name,
            imported=len(plan.changing),
        )
    return plan


class _Writer:
    def __init__(self, plan: ImportPlan, by: User | None) -> None:
        self.plan, self.by = plan, by
        self.reason = plan.options.accepted_before
        first = unused_key(plan.research_field)
        prefix, _, number = first.rpartition("-")
        self.unused = (f"{prefix}-{n:04d}" for n in count(int(number)))
        # Keys of the file may look like ours
        self.named = {row.record.key for row in plan.rows}

    def write(self, rows: Sequence[PlannedRow]) -> None:
        drafts = [row for row in rows if row.in_place]
        made = [(row, self._made(row)) for row in rows if not row.in_place]
        Item.objects.bulk_create([item for _, item in made])
        changes = [change for row, item in made for change in self._history(row, item)]
        changed = [self._changed(row) for row in drafts]
        if changed:
            # One statement that updates them all: bulk_update takes ten times as long
            Item.objects.bulk_create(
                changed,
                update_conflicts=True,
                unique_fields=("key", "version"),
                update_fields=WRITTEN,
            )
        for row, item in zip(drafts, changed, strict=True):
            changes += self._history(row, item)
        ItemChange.objects.bulk_create(changes)

    def _made(self, row: PlannedRow) -> Item:
        """A new test case, or the next version of one."""
        if row.item is None:
            item = Item(
                key=row.record.key or self._key(),
                field=self.plan.research_field.name,
                **_said(row, DETAILS),
            )
        else:
            carried = {name: getattr(row.item, name) for name in CARRIED_FIELDS}
            item = Item(version=row.item.version + 1, **carried | _said(row, row.record.given))
        item.markup, item.created_by = row.record.markup, self.by
        if self.reason:
            item.status = Status.ACCEPTED
        item.derive_texts()  # bulk_create does not call save()
        return item

    def _changed(self, row: PlannedRow) -> Item:
        """A draft, written in its place."""
        item = row.item
        assert item is not None
        for change in row.changes:
            setattr(item, change.column, getattr(row.record, change.column))
        item.edits += bool(row.changes)
        if self.reason:
            item.status = Status.ACCEPTED
        item.derive_texts()
        item.pk = None  # found again by key and version
        return item

    def _history(self, row: PlannedRow, item: Item) -> Iterable[ItemChange]:
        def change(action: str, before: dict[str, Any], after: dict[str, Any]) -> ItemChange:
            return ItemChange(
                item=item, action=action, by=self.by, before=before, after=after, reason=self.reason
            )

        if not row.in_place:
            after: dict[str, Any] = {"markup": item.markup}
            after |= {"from_version": row.item.version} if row.item else {}
            yield change(ItemChange.Action.CREATED, {}, after)
        elif row.changes:
            columns = {c.column for c in row.changes}
            action = ItemChange.Action.TEXT if "markup" in columns else ItemChange.Action.DETAILS
            before = {c.column: c.before for c in row.changes}
            yield change(action, before, {c.column: c.after for c in row.changes})
        if self.reason:
            yield change(
                ItemChange.Action.STATUS, {"status": Status.DRAFT}, {"status": Status.ACCEPTED}
            )

    def _key(self) -> str:
        return next(key for key in self.unused if key not in self.named)


def _said(row: PlannedRow, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(row.record, name) for name in DETAILS if name in names}


def _batches(rows: Sequence[PlannedRow]) -> Iterable[Sequence[PlannedRow]]:
    return (rows[start : start + BATCH] for start in range(0, len(rows), BATCH))
