"""The outcome of an import: typed, and as JSON whose keys are a contract. The lines for people are in lines.py."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.urls import reverse

from experiment.domain.questions.filling import LeftOut, Pair
from experiment.domain.questions.values import MixedColumn
from experiment.imports.read.brainbench import Published
from experiment.imports.read.rows import RowProblem
from experiment.imports.read.tables import Problem
from experiment.imports.read.testcases import PublishedItem
from experiment.imports.read.trials import Excluded
from experiment.imports.store.filling import PREVIEWED, FilledTemplate
from experiment.imports.store.item_plans import ItemPlan
from experiment.imports.store.plans import Action, Plan, Remark
from experiment.imports.store.published import Created, Imported
from experiment.imports.store.question_plans import QuestionPlan
from experiment.models import Item, ResearchField
from lib.shapes import Shape


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
    """The report of an import, or of a refused one, which has no outcome."""
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
    path = None
    if successor:
        research_field = ResearchField.objects.filter(name=successor.field).first()
        if research_field is not None:
            path = reverse("lab:item", args=[research_field.slug, successor.pk])
    return DamagedText(
        source=item.source,
        row=item.row.number,
        doi=item.doi,
        reason=item.damage.reason,
        repaired=texts == Item.Texts.REPAIRED and item.damage.repaired is not None,
        key=item.key,
        version=successor.version if successor else 1,
        status=successor.status if successor else Item.Status.ACCEPTED.value,
        path=path,
    )


# Shapes of what the functions below return
_COUNTS: dict[str, Shape] = {str(action): int for action in Action}
_TOLD: dict[str, Shape] = {
    "remarks": [Remark],
    "problems": [{"sheet": str, "row": int | None, "column": str | None, "message": str}],
}
ITEM_SHAPE = _COUNTS | _TOLD
QUESTION_SHAPE = (
    _COUNTS | {"gone": int, "new_templates": int, "repeated": int, "waiting": [str]} | _TOLD
)
FILLING_SHAPE: dict[str, Shape] = {
    "table": str,
    "rows": int,
    "pairs": int,
    "drawn": int,
    "mixed": [MixedColumn],
    "left_out": [LeftOut],
    "preview": [Pair],
}


def nothing_written(n_problems: int) -> str:
    """The last sentence of a command that has named the problems."""
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


def _counts(plan: Plan[Any]) -> dict[str, int]:
    return {str(action): plan.count(action) for action in Action}


def _problem_json(problem: RowProblem) -> dict[str, str | int | None]:
    line = "" if problem.line is None else f"line {problem.line}: "
    place = {"sheet": problem.sheet, "row": problem.row, "column": problem.column}
    return {**place, "message": line + problem.message}
