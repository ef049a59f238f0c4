"""What was or would be done, as JSON, whose keys are a contract, and as lines for people (templates/experiment/)."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from experiment.domain.item_checks.findings import Level
from experiment.imports.read.rows import RowProblem
from experiment.imports.report import MAX_PROBLEMS_SHOWN, render_lines
from experiment.imports.store.filling import PREVIEWED, FilledTemplate
from experiment.imports.store.item_plans import ItemPlan
from experiment.imports.store.plans import Action, Plan
from experiment.imports.store.question_plans import QuestionPlan
from experiment.models import Study


def item_json(plan: ItemPlan) -> dict[str, Any]:
    """`row` counts rows of data from 1; it is null, as `column`, where the problem is of no single one."""
    return {**_counts(plan), "problems": [_problem_json(problem) for problem in plan.problems]}


def question_json(plan: QuestionPlan) -> dict[str, Any]:
    return {
        **_counts(plan),
        "gone": len(plan.gone),
        "new_templates": len(plan.new_templates),
        "repeated": len(plan.repeated),
        "waiting": [str(row.item) for row in plan.waiting],
        "problems": [_problem_json(problem) for problem in plan.problems],
    }


def item_lines(plan: ItemPlan, *, written: bool) -> Sequence[str]:
    context = {
        **_context(plan, written),
        **_first("updates", [row for row in plan.rows if row.action == Action.UPDATE]),
        **_first("notes", [row for row in plan.rows if row.note]),
        "is_unchecked": plan.changing and not (plan.is_checked or written),
        "n_errors": plan.count_checked(Level.ERROR),
        "n_warnings": plan.count_checked(Level.WARNING),
    }
    return render_lines("experiment/item_import.txt", context)


def question_lines(
    plan: QuestionPlan, *, written: bool, pinned: int | None = None, study: Study | None = None
) -> Sequence[str]:
    context = {
        **_context(plan, written),
        **_first("updates", [row for row in plan.rows if row.changes]),
        **_first("waiting", plan.waiting),
        **_first("repeated", plan.repeated),
        "pinned": pinned,
        "study": study,
    }
    return render_lines("experiment/question_import.txt", context)


def filling_json(filled: FilledTemplate) -> dict[str, Any]:
    """`left_out`: rows without a pair, and why; `mixed`: columns of numbers that are read as texts; `preview`: the first pairs drawn."""
    return {
        "table": filled.table,
        "rows": filled.n_rows,
        "pairs": len(filled.filling.pairs),
        "drawn": len(filled.pairs),
        "mixed": [asdict(column) for column in filled.filling.mixed],
        "left_out": [asdict(row) for row in filled.filling.left_out],
        "preview": [asdict(pair) for pair in filled.pairs[:PREVIEWED]],
    }


def filling_lines(filled: FilledTemplate) -> Sequence[str]:
    context = {
        "filled": filled,
        "preview": filled.pairs[:PREVIEWED],
        **_first("left", filled.filling.left_out),
    }
    return render_lines("experiment/question_filling.txt", context)


def _counts(plan: Plan[Any]) -> dict[str, int]:
    return {str(action): plan.count(action) for action in Action}


def _problem_json(problem: RowProblem) -> dict[str, str | int | None]:
    line = "" if problem.line is None else f"line {problem.line}: "
    return {"row": problem.row, "column": problem.column, "message": line + problem.message}


def _context(plan: Plan[Any], written: bool) -> dict[str, Any]:
    return {**_counts(plan), "plan": plan, "written": written, **_first("problems", plan.problems)}


def _first(name: str, rows: Sequence[Any]) -> dict[str, Any]:
    """As many as are named, and how many more there are."""
    n_more = max(0, len(rows) - MAX_PROBLEMS_SHOWN)
    return {name: rows[:MAX_PROBLEMS_SHOWN], f"n_more_{name}": n_more}
