"""Does what a plan says, all of it or nothing, with the history of each item; a large file as background work."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Generic

from django.contrib.auth.models import User
from django.db import transaction

from experiment.domain.questions.columns import DIMENSION, MADE_FROM
from experiment.domain.questions.made_from import source_of
from experiment.domain.roles import FieldRight
from experiment.imports.read.items import Defaults
from experiment.imports.read.questions import QuestionRecord
from experiment.imports.read.records import R, RecordsFile
from experiment.imports.store.item_plans import ItemOptions
from experiment.imports.store.plans import Action, Options, Plan, PlannedRow, Progress, unseen
from experiment.imports.store.question_plans import merged_categories
from experiment.models import (
    Item,
    ItemChange,
    ItemImport,
    QuestionTemplate,
    ResearchField,
    Subfield,
)
from experiment.services import audit, item_files, work
from experiment.services.curation.reviews import CARRIED_FIELDS
from experiment.services.curation.writing import action_of, unused_keys
from experiment.services.rights import field_rights_of
from lib.jobs.leases import Lease, run_job

BATCH = 500
SHEET = "(sheet)"  # of a kept choice of columns, none of which is called so
# Columns of a draft that may change
WRITTEN = (
    *("kind", "source", "generator", "subfield", "doi", "publication_date", "note"),
    *("markup", "original", "altered", "sha256", "reviewed_sha256"),
    *("edits", "status"),
    *("expert_answer", "categories", "template", "made_from"),
)
Status = Item.Status
# Of a change, as the item calls its columns
COLUMNS = {"question": "markup", "answer": "expert_answer"}


class PlanRefusedError(Exception):
    """Nothing was written: `plan` has problems, or is not the one that was shown."""

    def __init__(self, plan: Plan[Any]) -> None:
        self.plan = plan
        super().__init__("problems" if plan.problems else "changed")


@transaction.atomic
def import_file(
    file: RecordsFile[R],
    research_field: ResearchField,
    options: Options[R],
    *,
    by: User | None = None,
    shown: str | None = None,
    progress: Progress = unseen,
    is_demo: bool = False,
) -> Plan[R]:
    """Plan again, with the field's items locked, and do it. `shown`: the fingerprint of the plan that a person agreed to.

    Raises:
        PlanRefusedError: it has problems, or is another plan than the one that was shown.
    """
    # New drafts take their numbers one after the other, whoever makes them
    ResearchField.objects.select_for_update(no_key=True).get(pk=research_field.pk)
    plan = options.plan(file, research_field, by=by, locked=True)
    if plan.problems or (shown is not None and shown != plan.fingerprint):
        raise PlanRefusedError(plan)
    Subfield.objects.bulk_create(
        Subfield(field=research_field, name=name) for name in plan.new_subfields
    )
    # A file may name templates whose texts nobody here has
    QuestionTemplate.objects.bulk_create(
        QuestionTemplate(field=research_field, key=key) for key in plan.new_templates
    )
    writer = _Writer(plan, by, is_demo)
    changing = plan.changing
    for start in range(0, len(changing), BATCH):
        writer.write(changing[start : start + BATCH])
        progress(min(start + BATCH, len(changing)) + len(plan.rows) - len(changing))
    if plan.accept and changing:
        audit.record(
            audit.Action.ITEM_ACCEPTED,
            by=by,
            reason=plan.accept,
            field=research_field.name,
            imported=len(changing),
        )
    same = [row.item.key for row in plan.rows if row.item and row.action == Action.UNCHANGED]
    return replace(plan, keys=[*same, *writer.keys])


class _Writer(Generic[R]):
    def __init__(self, plan: Plan[R], by: User | None, is_demo: bool) -> None:
        self.plan, self.by, self.is_demo = plan, by, is_demo
        self.keys: list[str] = []
        templates = QuestionTemplate.objects.filter(field=plan.research_field)
        self.templates: dict[str, int] = dict(templates.values_list("key", "pk"))
        named = {row.record.key for row in plan.rows}  # keys of the file may look like ours
        every = unused_keys(plan.research_field)
        self.unused: Iterator[str] = (key for key in every if key not in named)

    def write(self, rows: Sequence[PlannedRow[R]]) -> None:
        made = [(row, self._made(row)) for row in rows if not row.in_place]
        Item.objects.bulk_create([item for _, item in made])
        changed = [(row, self._changed(row)) for row in rows if row.in_place]
        if changed:
            # One statement that updates them all: bulk_update takes ten times as long
            Item.objects.bulk_create(
                [item for _, item in changed],
                update_conflicts=True,
                unique_fields=("key", "version"),
                update_fields=WRITTEN,
            )
        written = [*made, *changed]
        self.keys += [item.key for _, item in written]
        ItemChange.objects.bulk_create(c for row, item in written for c in self._history(row, item))

    def _made(self, row: PlannedRow[R]) -> Item:
        """A new item, or the next version of one."""
        if row.item is None:
            item = Item(
                key=row.record.key or next(self.unused),
                field=self.plan.research_field.name,
                is_demo=self.is_demo,
            )
        else:
            carried = {name: getattr(row.item, name) for name in CARRIED_FIELDS}
            item = Item(version=row.item.version + 1, **carried)
        item.markup, item.created_by = row.record.markup, self.by
        return self._filled(row, item)

    def _changed(self, row: PlannedRow[R]) -> Item:
        """A draft, written in its place."""
        item = row.item
        assert item is not None
        item.edits += bool(row.changes)
        if any(COLUMNS.get(change.column, change.column) == "markup" for change in row.changes):
            item.markup = row.record.markup
        item = self._filled(row, item)
        item.pk = None  # found again by key and version
        return item

    def _filled(self, row: PlannedRow[R], item: Item) -> Item:
        record = row.record
        for name in record.DETAILS:
            if row.item is None or name in record.given:
                setattr(item, name, getattr(record, name))
        if isinstance(record, QuestionRecord):
            item.kind = Item.Kind.QUESTION
            item.expert_answer = record.answer
            item.categories = merged_categories(record, item)
            # What the row does not say is kept: its row of its table, and how cells that it lacks were written
            cells = {
                name: cell
                for name, cell in item.made_from.get("cells", {}).items()
                if f"{name}{DIMENSION}" not in record.given
            } | record.made_from.get("cells", {})
            kept = {} if MADE_FROM in record.given else source_of(item.made_from)
            merged = kept | source_of(record.made_from)
            item.made_from = merged | ({"cells": cells} if cells else {})
            if "template" in record.given:
                item.template_id = self.templates.get(record.template)
        if self.plan.accept:
            item.status = Status.ACCEPTED
        item.derive_texts()  # bulk_create does not call save()
        return item

    def _history(self, row: PlannedRow[R], item: Item) -> Iterable[ItemChange]:
        def change(action: str, before: dict[str, Any], after: dict[str, Any]) -> ItemChange:
            return ItemChange(
                item=item,
                action=action,
                by=self.by,
                before=before,
                after=after,
                reason=self.plan.accept,
            )

        if not row.in_place:
            after: dict[str, Any] = {"markup": item.markup}
            after |= {"expert_answer": item.expert_answer} if item.is_question else {}
            after |= {"from_version": row.item.version} if row.item else {}
            yield change(ItemChange.Action.CREATED, {}, after)
        elif row.changes:
            before = {COLUMNS.get(c.column, c.column): c.before for c in row.changes}
            after = {COLUMNS.get(c.column, c.column): c.after for c in row.changes}
            yield change(action_of(before), before, after)
        if self.plan.accept:
            yield change(
                ItemChange.Action.STATUS, {"status": Status.DRAFT}, {"status": Status.ACCEPTED}
            )


class RefusedError(Exception):
    """Nothing was imported; the message says why."""


@transaction.atomic
def ask(
    research_field: ResearchField, upload: str, options: ItemOptions, shown: str, by: User
) -> ItemImport:
    """Have a worker import a kept file as it was shown."""
    job = ItemImport.objects.create(
        research_field=research_field,
        created_by=by,
        upload=upload,
        shown=shown,
        source=options.defaults.source,
        generator=options.defaults.generator,
        new_subfields=options.new_subfields,
        accepted_before=options.accepted_before,
        columns={**options.columns, **({SHEET: options.sheet} if options.sheet else {})},
    )
    work.start(job, by)
    return job


def may_ask(user: User, job: ItemImport) -> bool:
    """A lead alone brings what was accepted elsewhere."""
    needed = FieldRight.LEAD_FIELD if job.accepted_before else FieldRight.CURATE_FIELD
    return needed in field_rights_of(user, job.research_field)


def run(job: ItemImport) -> ItemImport:
    return run_job(job, _work, expected=(RefusedError,))


def _work(job: ItemImport, lease: Lease) -> None:
    def compared(done: int) -> None:
        lease.check()
        lease.write(done=done)

    try:
        data = item_files.read_upload(job.research_field, job.created_by, job.upload)
    except FileNotFoundError as gone:
        raise RefusedError("The file is no longer stored. Send it again.") from gone
    options = ItemOptions(
        defaults=Defaults(job.source, job.generator),
        new_subfields=job.new_subfields,
        accepted_before=job.accepted_before,
        columns={name: column for name, column in job.columns.items() if name != SHEET},
        sheet=job.columns.get(SHEET, ""),
    )
    file = options.read(data)
    # Before the transaction that writes: from within it, nobody would see how far it has come
    plan = options.plan(
        file,
        job.research_field,
        by=job.created_by,
        progress=compared,
        total=lambda n: lease.write(total=n),
    )
    lease.check()
    try:
        with transaction.atomic():
            plan = import_file(
                file, job.research_field, options, by=job.created_by, shown=job.shown
            )
            lease.write(
                done=len(plan.rows),
                n_created=plan.count(Action.CREATE),
                n_updated=plan.count(Action.UPDATE),
            )
    except PlanRefusedError as refused:
        raise RefusedError(
            "The field's test cases have changed since the difference was shown. Send the file and check it again."
        ) from refused
    item_files.forget_upload(job.research_field, job.created_by, job.upload)
