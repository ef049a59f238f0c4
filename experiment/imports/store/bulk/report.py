"""A plan as JSON, whose keys are a contract, and as lines for people (templates/experiment/item_import.txt)."""

from collections.abc import Sequence
from typing import Any

from experiment.domain.item_checks import Level
from experiment.imports.read.items import RowProblem
from experiment.imports.report import MAX_PROBLEMS_SHOWN, render_lines
from experiment.imports.store.bulk.difference import Action, ImportPlan


def as_json(plan: ImportPlan) -> dict[str, Any]:
    """`row` counts rows of data from 1; it is null, as `column`, where the problem is of no single one."""
    return {
        **{str(action): plan.count(action) for action in Action},
        "problems": [problem_json(problem) for problem in plan.problems],
    }


def problem_json(problem: RowProblem) -> dict[str, str | int | None]:
    line = "" if problem.line is None else f"line {problem.line}: "
    return {"row": problem.row, "column": problem.column, "message": line + problem.message}


def lines(plan: ImportPlan, *, written: bool) -> Sequence[str]:
    updates = [row for row in plan.rows if row.action == Action.UPDATE]
    notes = [row for row in plan.rows if row.note]
    most = MAX_PROBLEMS_SHOWN
    context = {
        **{str(action): plan.count(action) for action in Action},
        "written": written,
        "is_unchecked": plan.changing and not (plan.is_checked or written),
        "new_subfields": plan.new_subfields,
        "ignored": plan.ignored,
        "updates": updates[:most],
        "n_more_updates": max(0, len(updates) - most),
        "n_errors": plan.count_checked(Level.ERROR),
        "n_warnings": plan.count_checked(Level.WARNING),
        "notes": notes[:most],
        "n_more_notes": max(0, len(notes) - most),
        "problems": plan.problems,
        "shown": plan.problems[:most],
        "n_more": max(0, len(plan.problems) - most),
    }
    return render_lines("experiment/item_import.txt", context)
