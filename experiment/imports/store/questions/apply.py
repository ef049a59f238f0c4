"""Does what a plan says, all of it or nothing, with the history of each question."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from experiment.domain.questions.columns import DIMENSION, MADE_FROM
from experiment.domain.questions.made_from import source_of
from experiment.imports.read.questions.records import QuestionRecord, QuestionsFile
from experiment.imports.store.bulk.difference import Action
from experiment.imports.store.questions.plan import (
    DETAILS,
    PlannedQuestion,
    QuestionPlan,
    merged_categories,
    plan_questions,
)
from experiment.models import Item, ItemChange, QuestionTemplate, ResearchField
from experiment.services import audit
from experiment.services.curation.drafts import unused_key
from experiment.services.curation.lifecycle import CARRIED_FIELDS

BATCH = 1_000
# Columns of a draft that may change
WRITTEN = (
    *DETAILS,
    *("markup", "original", "altered", "sha256", "edits", "status"),
    *("expert_answer", "categories", "template", "made_from"),
)


class QuestionsRefusedError(Exception):
    """Nothing was written: `plan` has problems, or is not the one that was shown."""

    def __init__(self, plan: QuestionPlan) -> None:
        self.plan = plan
        super().__init__("problems" if plan.problems else "changed")


@transaction.atomic
def import_questions(
    file: QuestionsFile,
    research_field: ResearchField,
    accept: str = "",
    *,
    by: User | None = None,
    shown: str | None = None,
    is_demo: bool = False,
) -> QuestionPlan:
    """Plan again, with the field's questions locked, and do it. `shown`: the fingerprint of the plan that a person agreed to.

    Raises:
        QuestionsRefusedError: it has problems, or is another plan than the one that was shown.
    """
    # New drafts take their numbers one after the other, whoever makes them
    ResearchField.objects.select_for_update(no_key=True).get(pk=research_field.pk)
    plan = plan_questions(file, research_field, accept, locked=True)
    if plan.problems or (shown is not None and shown != plan.fingerprint):
        raise QuestionsRefusedError(plan)
    # A file may name templates whose texts nobody here has
    QuestionTemplate.objects.bulk_create(
        QuestionTemplate(field=research_field, key=key, created_by=by) for key in plan.new_templates
    )
    writer = _Writer(plan, by, is_demo)
    for start in range(0, len(plan.changing), BATCH):
        writer.write(plan.changing[start : start + BATCH])
    if accept and plan.changing:
        audit.record(
            audit.Action.ITEM_ACCEPTED,
            by=by,
            reason=accept,
            field=research_field.name,
            imported=len(plan.changing),
        )
    same = [row.item.key for row in plan.rows if row.item and row.action == Action.UNCHANGED]
    return replace(plan, keys=[*same, *writer.keys])


def _merged_source(record: QuestionRecord, item: Item) -> dict[str, Any]:
    """What a row does not say stays: from which row of which table it was made, and how cells that it lacks were written."""
    cells = {
        name: cell
        for name, cell in item.made_from.get("cells", {}).items()
        if f"{name}{DIMENSION}" not in record.given
    } | record.made_from.get("cells", {})
    kept = {} if MADE_FROM in record.given else source_of(item.made_from)
    merged = kept | source_of(record.made_from)
    return merged | ({"cells": cells} if cells else {})


class _Writer:
    def __init__(self, plan: QuestionPlan, by: User | None, is_demo: bool) -> None:
        self.plan, self.by, self.is_demo = plan, by, is_demo
        self.keys: list[str] = []
        templates = QuestionTemplate.objects.filter(field=plan.research_field)
        self.templates: dict[str, int] = dict(templates.values_list("key", "pk"))
        prefix, _, number = unused_key(plan.research_field).rpartition("-")
        named = {row.record.key for row in plan.rows}  # keys of the file may look like ours
        every = (f"{prefix}-{n:04d}" for n in count(int(number)))
        self.unused: Iterator[str] = (key for key in every if key not in named)

    def write(self, rows: Sequence[PlannedQuestion]) -> None:
        made = [(row, self._made(row)) for row in rows if not row.in_place]
        Item.objects.bulk_create([item for _, item in made])
        drafts = [row for row in rows if row.in_place]
        changed = [self._changed(row) for row in drafts]
        if changed:
            # One statement that updates them all: bulk_update takes ten times as long
            Item.objects.bulk_create(
                changed,
                update_conflicts=True,
                unique_fields=("key", "version"),
                update_fields=WRITTEN,
            )
        every = [*made, *zip(drafts, changed, strict=True)]
        self.keys += [item.key for _, item in every]
        ItemChange.objects.bulk_create(c for row, item in every for c in self._history(row, item))

    def _made(self, row: PlannedQuestion) -> Item:
        """A new question, or the next version of one."""
        if row.item is None:
            item = Item(
                key=row.record.key or next(self.unused),
                kind=Item.Kind.QUESTION,
                field=self.plan.research_field.name,
                is_demo=self.is_demo,
            )
        else:
            carried = {name: getattr(row.item, name) for name in CARRIED_FIELDS}
            item = Item(version=row.item.version + 1, **carried)
        item.created_by = self.by
        return self._filled(row, item)

    def _changed(self, row: PlannedQuestion) -> Item:
        """A draft, written in its place."""
        item = row.item
        assert item is not None
        item.edits += bool(row.changes)
        item = self._filled(row, item)
        item.pk = None  # found again by key and version
        return item

    def _filled(self, row: PlannedQuestion, item: Item) -> Item:
        record = row.record
        for name in DETAILS:
            if name in record.given:
                setattr(item, name, getattr(record, name))
        item.markup, item.expert_answer = record.question, record.answer
        item.categories = merged_categories(record, item)
        item.made_from = _merged_source(record, item)
        if "template" in record.given:
            item.template_id = self.templates.get(record.template)
        if self.plan.accept:
            item.status = Item.Status.ACCEPTED
        item.derive_texts()  # bulk_create does not call save()
        return item

    def _history(self, row: PlannedQuestion, item: Item) -> Iterable[ItemChange]:
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
            after: dict[str, Any] = {"markup": item.markup, "expert_answer": item.expert_answer}
            after |= {"from_version": row.item.version} if row.item else {}
            yield change(ItemChange.Action.CREATED, {}, after)
        elif row.changes:
            names = {"question": "markup", "answer": "expert_answer"}
            before = {names.get(c.column, c.column): c.before for c in row.changes}
            after = {names.get(c.column, c.column): c.after for c in row.changes}
            action = ItemChange.Action.TEXT if "markup" in before else ItemChange.Action.DETAILS
            yield change(action, before, after)
        if self.plan.accept:
            yield change(
                ItemChange.Action.STATUS,
                {"status": Item.Status.DRAFT},
                {"status": Item.Status.ACCEPTED},
            )
