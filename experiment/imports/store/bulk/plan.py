"""What an import of a file would do, row by row. Nothing is written here."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from django.utils import timezone

from experiment.domain.item_checks import Facts, Level, check_text
from experiment.imports.read.items import RowProblem, read_items
from experiment.imports.store.bulk.compare import Planner
from experiment.imports.store.bulk.difference import (
    AS_DRAFTS,
    Action,
    ImportPlan,
    Options,
    PlannedRow,
)
from experiment.imports.store.bulk.known import Known
from experiment.models import ResearchField

Progress = Callable[[int], None]
# More texts than these are not checked, but where they would be accepted at once
MOST_CHECKED = 1_000


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
    planner = Planner(file, known, options)
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
