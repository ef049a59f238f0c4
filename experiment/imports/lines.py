"""The outcome of an import, done or planned, as lines of a terminal. The typed reports are in report.py."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from experiment.domain.item_checks.findings import Level
from experiment.imports.read.tables import Problem
from experiment.imports.report import DamagedText, ImportReport
from experiment.imports.store.filling import PREVIEWED, FilledTemplate
from experiment.imports.store.item_plans import ItemPlan
from experiment.imports.store.plans import Action, Plan, PlannedRow, Remark
from experiment.imports.store.question_plans import QuestionPlan
from experiment.models import Item, Study
from lib.formatting import count, verb

MOST_SHOWN = 50  # more than a person reads in one go
IN_JSON = "--json names them all"


def item_lines(plan: ItemPlan, *, written: bool, is_new_field: bool = False) -> list[str]:
    updates = [row for row in plan.rows if row.action == Action.UPDATE]
    checked = []
    if n := plan.count_checked(Level.ERROR):
        once = "reviewed once they are corrected."
        then = verb(n, f"It can be {once}", f"These can be {once}")
        checked.append(f"The checks find errors in {count(n, 'text')}. {then}")
    if n := plan.count_checked(Level.WARNING):
        checked.append(f"The checks warn about {count(n, 'text')}.")
    if plan.changing and not (plan.is_checked or written):
        checked.append(
            "This file has too many texts to check here. Each text is checked when you open it."
        )
    return [
        *_of_new_field(plan, written=written, is_new_field=is_new_field),
        *_of_changes(plan, "test case", updates, written=written),
        *_of_columns(plan),
        *checked,
        *_of_remarks(plan.remarks),
        *_of_problems(plan),
    ]


def question_lines(
    plan: QuestionPlan,
    *,
    written: bool,
    pinned: int | None = None,
    study: Study | None = None,
    is_new_field: bool = False,
) -> list[str]:
    """pinned: questions that the study draws from since, where it was asked to."""
    lines = [*_of_new_field(plan, written=written, is_new_field=is_new_field)]
    if not plan.problems:
        updates = [row for row in plan.rows if row.changes]
        lines += _of_changes(plan, "question", updates, written=written)
    lines += _some(
        (f"row {row.record.row} {row.note}" for row in plan.repeated), len(plan.repeated)
    )
    if not plan.problems:
        lines += _of_waiting(plan)
        if n := len(plan.gone):
            change = verb(n, "does not change", "do not change")
            lines.append(
                f"{count(n, 'question')} of the field {verb(n, 'is', 'are')} not in the file and {change}."
            )
    if n := len(plan.new_templates):
        texts = verb(n, "its texts", "their texts")
        lines.append(f"{_are(n, 'template')} stored by name only, without {texts}.")
    if pinned is not None:
        unasked = "It does not ask participants any of them; set their number with --each."
        none_asked = study is not None and not study.question_items
        lines.append(f"The study draws from {pinned} more.{f' {unasked}' if none_asked else ''}")
    return [
        *lines,
        *_of_columns(plan),
        *_of_remarks([remark for remark in plan.remarks if remark.kind == "read_as"]),
        *_of_problems(plan),
    ]


def filling_lines(filled: FilledTemplate) -> list[str]:
    made, drawn = len(filled.filling.pairs), len(filled.pairs)
    lines = [f"{filled.n_rows} rows make {made} pairs, of which {drawn} are drawn."]
    for pair in filled.pairs[:PREVIEWED]:
        lines += [f"  row {pair.row}, rule {pair.rule}: {pair.question}", f"    {pair.answer}"]
    lines += map(str, filled.filling.mixed)
    if left := filled.filling.left_out:
        lines += ["Rows without a pair:", *_some((f"  {row}" for row in left), len(left), IN_JSON)]
    return lines


def problem_lines(problems: Sequence[Problem], hint: str = "") -> list[str]:
    """hint: where the problems are that are too many for these lines."""
    n = count(len(problems), "problem")
    shown = _some((f"  {problem}" for problem in problems), len(problems), hint)
    return [
        f"Nothing was written. {n} (lines are counted from 1, rows of data from 0):",
        *shown,
    ]


def report_lines(
    report: ImportReport,
    *,
    more: Iterable[str],
    created: str,
    absent: Iterable[str],
    notes: Iterable[str],
) -> list[str]:
    """Lines about published data. created: rows that are new, by name; absent, notes: of all that was read; more: what else is there."""
    left = report.excluded_before_publication
    study = f"study {report.study} ({report.texts} texts)"
    done = (
        f"Written for the {study}: {created}."
        if created
        else f"The {study} already contains all of this, so nothing was written."
    )
    excluded = f"excluded {left.participants} whole participants and {left.trials} single trials"
    n, damaged = len(report.damaged), []
    if n:
        damaged.append(f"{count(n, 'published text')} {verb(n, 'is', 'are')} damaged:")
    for text in report.damaged:
        damaged += [
            f"  {text.key} ({text.source} row {text.row}, {text.doi}): {text.reason}.",
            f"    {_repair(text, report.texts)}",
        ]
    return [
        f"{report.items['human']} human-created and {report.items['machine']} machine-created test cases",
        f"{report.participants} participants with {report.trials} trials (the publication {excluded})",
        *more,
        done,
        *(f"Missing, and left out: {name}" for name in absent),
        *(f"Note: {note}" for note in notes),
        *damaged,
    ]


def _repair(text: DamagedText, texts: str) -> str:
    """texts: the mode of the import."""
    if texts == Item.Texts.AS_PUBLISHED:
        return "Stored as people and models saw it, unchanged."
    if text.repaired:
        return f"Repaired as version {text.version}; the published trials stay with version 1."
    if text.status == Item.Status.ACCEPTED:
        return f"Corrected by a person as version {text.version}."
    return (
        f"A person must correct this text: correct and accept version {text.version} at {text.path}, then import again to have the "
        "study draw it."
    )


def _of_new_field(plan: Plan[Any], *, written: bool, is_new_field: bool) -> Iterator[str]:
    if is_new_field and written:
        field = plan.research_field
        yield f"The field {field.name} is new: --field {field.slug} names it."


def _of_changes(
    plan: Plan[Any], noun: str, updates: Sequence[PlannedRow[Any]], *, written: bool
) -> Iterator[str]:
    new, changed, same = (
        plan.count(action) for action in (Action.CREATE, Action.UPDATE, Action.UNCHANGED)
    )
    if written:
        yield f"{_are(new, noun)} new."
        yield f"{changed} {verb(changed, 'is', 'are')} changed."
        yield f"{same} already matched the file."
        return
    yield f"{count(new, noun)} would be new."
    yield f"{changed} would be changed{':' if updates else '.'}"
    yield from _some(map(_changed, updates), len(updates))
    yield f"{same} already {verb(same, 'matches', 'match')} the file."


def _changed(row: PlannedRow[Any]) -> str:
    version = "" if row.in_place else " (a new version)"
    columns = ", ".join(change.column for change in row.changes) or "accepted"
    return f"  row {row.record.row}, {row.item}{version}: {columns}"


def _of_waiting(plan: QuestionPlan) -> Iterator[str]:
    n = len(plan.waiting)
    if not n:
        return
    rest = (
        "is in review and will not be accepted by this import. Wait for its reviewer's decision, or return it to draft first:"
        if n == 1
        else "are in review and will not be accepted by this import. Wait for their reviewers' decisions, or return them to draft first:"
    )
    named = ", ".join(str(row.item) for row in plan.waiting[:MOST_SHOWN])
    more = f" … and {n - MOST_SHOWN} more" if n > MOST_SHOWN else ""
    yield f"{n} {rest} {named}{more}"


def _of_columns(plan: Plan[Any]) -> Iterator[str]:
    if plan.new_subfields:
        yield f"New subfields: {', '.join(plan.new_subfields)}."
    if plan.ignored:
        yield f"Columns that were not read: {', '.join(plan.ignored)}."


def _of_remarks(remarks: Sequence[Remark]) -> Iterator[str]:
    said = (
        f"  row {one.row}{f', {one.label}' if one.label else ''}: {one.message}." for one in remarks
    )
    yield from _some(said, len(remarks), IN_JSON)


def _of_problems(plan: Plan[Any]) -> Iterator[str]:
    if n := len(plan.problems):
        of_sheet = any(one.row is not None and one.line is None for one in plan.problems)
        how = "rows as in the sheet" if of_sheet else "rows of data and lines are counted from 1"
        yield f"{count(n, 'problem')} ({how}):"
        yield from _some((f"  {problem}" for problem in plan.problems), n, IN_JSON)
    if plan.unnamed:
        named = [
            part
            for name, column in plan.unnamed.guess.items()
            if column
            for part in ("--column", f"{name}={column}")
        ]
        guess = f" It may be: {shlex.join(named)}" if named else ""
        yield f"Use --column OURS=THEIRS to match a column of the file to one of ours.{guess}"
    if plan.sheets:
        yield "Use --sheet NAME to choose the sheet."
    if n := len(plan.missing_subfields):
        yield f"--new-subfields adds {verb(n, 'it', f'these {n}')}."


def _are(n: int, noun: str) -> str:
    return f"{count(n, noun)} {verb(n, 'is', 'are')}"


def _some(lines: Iterable[str], n: int, where: str = "") -> Iterator[str]:
    """As many of n lines as a person reads, and how many more there are; where: all of them are."""
    yield from (line for line, _ in zip(lines, range(MOST_SHOWN), strict=False))
    if n > MOST_SHOWN:
        yield f"  … and {n - MOST_SHOWN} more{f' ({where})' if where else ''}"
