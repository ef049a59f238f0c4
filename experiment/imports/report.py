"""What an import did: typed, as JSON whose keys are a contract, and as lines for people (templates/experiment/import_report.txt)."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.template.loader import render_to_string
from django.urls import reverse

from experiment.domain.item_checks.findings import Level
from experiment.imports.read.brainbench import Published
from experiment.imports.read.rows import RowProblem
from experiment.imports.read.tables import Problem
from experiment.imports.read.testcases import PublishedItem
from experiment.imports.read.trials import Excluded
from experiment.imports.store.filling import PREVIEWED, FilledTemplate
from experiment.imports.store.item_plans import ItemPlan
from experiment.imports.store.plans import Action, Plan
from experiment.imports.store.published import Created, Imported
from experiment.imports.store.question_plans import QuestionPlan
from experiment.models import Item, ResearchField, Study

# More than a person reads in one go
MAX_PROBLEMS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class DamagedText:
    """A published text that is not what its authors meant, and the version that takes its place."""

    source: str
    row: int
    doi: str
    reason: str
    repaired: bool
    key: str
    version: int
    status: str
    path: str | None  # of the page on which a person corrects it


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Counts are of what the directory holds, so a second import counts the same; `created` is of rows."""

    study: str
    texts: str
    items: Mapping[str, int]
    participants: int
    trials: int
    damaged: Sequence[DamagedText]
    excluded_before_publication: Excluded
    created: Created
    absent: Sequence[str]
    notes: Sequence[str]
    problems: Sequence[Problem]

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"problems": [problem.as_dict() for problem in self.problems]}


def make_report(
    data: Published,
    slug: str,
    texts: str,
    outcome: Imported | None,
    problems: Sequence[Problem] = (),
) -> ImportReport:
    """Of an import, or of a refused one, which has no outcome."""
    people = data.participants if outcome is None or outcome.trials_stored else ()
    counts = {
        source: sum(item.source == source for item in data.items) for source in ("human", "machine")
    }
    return ImportReport(
        study=slug,
        texts=texts,
        items=counts,
        participants=len(people),
        trials=sum(len(person.trials) for person in people),
        damaged=[_damaged(item, texts, outcome) for item in data.items if item.damage],
        excluded_before_publication=data.excluded,
        created=outcome.created if outcome else Created(),
        absent=list(data.absent),
        notes=[*data.notes, *(outcome.notes if outcome else ())],
        problems=problems,
    )


def _damaged(item: PublishedItem, texts: str, outcome: Imported | None) -> DamagedText:
    assert item.damage is not None
    successor = outcome.successors.get(item.key) if outcome else None
    return DamagedText(
        source=item.source,
        row=item.row.number,
        doi=item.doi,
        reason=item.damage.reason,
        repaired=texts == Item.Texts.REPAIRED and item.damage.repaired is not None,
        key=item.key,
        version=successor.version if successor else 1,
        status=successor.status if successor else Item.Status.ACCEPTED.value,
        path=_page_of(successor) if successor else None,
    )


def _page_of(item: Item) -> str | None:
    research_field = ResearchField.objects.filter(name=item.field).first()
    if research_field is None:
        return None
    return reverse("lab:item", args=[research_field.slug, item.pk])


def render_lines(template: str, context: Mapping[str, Any]) -> list[str]:
    """The lines of a text template; those that only hold its tags are left out."""
    text = render_to_string(template, dict(context))
    return [line for line in text.splitlines() if line.strip()]


def problem_lines(problems: Sequence[Problem], hint: str = "") -> list[str]:
    """`hint`: where the problems are that are too many for these lines."""
    shown = problems[:MAX_PROBLEMS_SHOWN]
    n_more = len(problems) - len(shown)
    context = {"problems": shown, "n": len(problems), "n_more": n_more, "hint": hint}
    return render_lines("experiment/import_problems.txt", context)


def nothing_written(n_problems: int) -> str:
    """What a command ends with that has named the problems."""
    return f"Nothing was written: {n_problems} problem{'' if n_problems == 1 else 's'}."


def item_json(plan: ItemPlan) -> dict[str, Any]:
    """`row` counts rows of data from 1; it is null, as `column`, where the problem is of no single one. remarks: as of `Remark`."""
    return {
        **_counts(plan),
        "remarks": [asdict(remark) for remark in plan.remarks],
        "problems": [_problem_json(problem) for problem in plan.problems],
    }


def question_json(plan: QuestionPlan) -> dict[str, Any]:
    return {
        **_counts(plan),
        "gone": len(plan.gone),
        "new_templates": len(plan.new_templates),
        "repeated": len(plan.repeated),
        "waiting": [str(row.item) for row in plan.waiting],
        "remarks": [asdict(remark) for remark in plan.remarks],
        "problems": [_problem_json(problem) for problem in plan.problems],
    }


def item_lines(plan: ItemPlan, *, written: bool, is_new_field: bool = False) -> Sequence[str]:
    context = {
        **_context(plan, written, is_new_field),
        **_first("updates", [row for row in plan.rows if row.action == Action.UPDATE]),
        **_first("remarks", plan.remarks),
        "is_unchecked": plan.changing and not (plan.is_checked or written),
        "n_errors": plan.count_checked(Level.ERROR),
        "n_warnings": plan.count_checked(Level.WARNING),
    }
    return render_lines("experiment/item_import.txt", context)


def question_lines(
    plan: QuestionPlan,
    *,
    written: bool,
    pinned: int | None = None,
    study: Study | None = None,
    is_new_field: bool = False,
) -> Sequence[str]:
    context = {
        **_context(plan, written, is_new_field),
        **_first("updates", [row for row in plan.rows if row.changes]),
        **_first("waiting", plan.waiting),
        **_first("repeated", plan.repeated),
        **_first("remarks", [remark for remark in plan.remarks if remark.kind == "read_as"]),
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


def _context(plan: Plan[Any], written: bool, is_new_field: bool) -> dict[str, Any]:
    guess = plan.unnamed.guess if plan.unnamed else {}
    named = [
        part
        for name, column in guess.items()
        if column
        for part in ("--column", f"{name}={column}")
    ]
    return {
        **_counts(plan),
        **_first("problems", plan.problems),
        "plan": plan,
        "written": written,
        "new_field": plan.research_field if is_new_field and written else None,
        "guess": shlex.join(named),
    }


def _first(name: str, rows: Sequence[Any]) -> dict[str, Any]:
    """As many as are named, and how many more there are."""
    n_more = max(0, len(rows) - MAX_PROBLEMS_SHOWN)
    return {name: rows[:MAX_PROBLEMS_SHOWN], f"n_more_{name}": n_more}
