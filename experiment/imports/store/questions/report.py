"""What was or would be done, as JSON, whose keys are a contract, and as lines for people (templates/experiment/)."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from experiment.imports.report import MAX_PROBLEMS_SHOWN, render_lines
from experiment.imports.store.bulk.difference import Action
from experiment.imports.store.bulk.report import problem_json
from experiment.imports.store.questions.filling import FilledTemplate
from experiment.imports.store.questions.plan import QuestionPlan
from experiment.models import Study

PREVIEWED = 20


def plan_json(plan: QuestionPlan) -> dict[str, Any]:
    return {
        **{str(action): plan.count(action) for action in Action},
        "gone": len(plan.gone),
        "new_templates": len(plan.new_templates),
        "repeated": len(plan.repeated),
        "waiting": [str(row.item) for row in plan.waiting],
        "problems": [problem_json(problem) for problem in plan.problems],
    }


def plan_lines(
    plan: QuestionPlan, *, written: bool, pinned: int | None = None, study: Study | None = None
) -> Sequence[str]:
    updates = [row for row in plan.rows if row.changes]
    context = {
        "waiting": plan.waiting[:MAX_PROBLEMS_SHOWN],
        "n_more_waiting": max(0, len(plan.waiting) - MAX_PROBLEMS_SHOWN),
        "repeated": plan.repeated[:MAX_PROBLEMS_SHOWN],
        "n_more_repeated": max(0, len(plan.repeated) - MAX_PROBLEMS_SHOWN),
        **{str(action): plan.count(action) for action in Action},
        "written": written,
        "pinned": pinned,
        "study": study,
        "plan": plan,
        "updates": updates[:MAX_PROBLEMS_SHOWN],
        "n_more_updates": max(0, len(updates) - MAX_PROBLEMS_SHOWN),
        "shown": plan.problems[:MAX_PROBLEMS_SHOWN],
        "n_more": max(0, len(plan.problems) - MAX_PROBLEMS_SHOWN),
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
        "left_out": [asdict(one) for one in filled.filling.left_out],
        "preview": [asdict(pair) for pair in filled.pairs[:PREVIEWED]],
    }


def filling_lines(filled: FilledTemplate) -> Sequence[str]:
    left = filled.filling.left_out
    context = {
        "filled": filled,
        "preview": filled.pairs[:PREVIEWED],
        "left": left[:MAX_PROBLEMS_SHOWN],
        "n_more": max(0, len(left) - MAX_PROBLEMS_SHOWN),
    }
    return render_lines("experiment/question_filling.txt", context)
