"""What an import would do, as a page shows it."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator

from experiment.domain.item_checks import Level
from experiment.domain.markup import Segment, parse
from experiment.domain.text_diff import Piece, word_diff
from experiment.imports.read.items import RowProblem
from experiment.imports.store.bulk.difference import Action, Change, ImportPlan, PlannedRow

PER_PAGE = 50
PROBLEMS = "problems"


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row with its text, where it is new, or with what changes."""

    row: PlannedRow
    segments: Sequence[Segment]
    pieces: Sequence[Piece]
    values: Sequence[Change]

    @classmethod
    def of(cls, row: PlannedRow) -> "ShownRow":
        is_new = row.action == Action.CREATE
        texts = [change for change in row.changes if change.column == "markup"]
        return cls(
            row,
            parse(row.record.markup).segments if is_new else (),
            [piece for change in texts for piece in word_diff(change.before, change.after)],
            [change for change in row.changes if change.column != "markup"],
        )


@dataclass(frozen=True, slots=True)
class Difference:
    """Counts of all rows, and a page of those of one kind; `problems` where these are asked for."""

    plan: ImportPlan
    show: str
    counts: Sequence[tuple[str, int]]
    page: Page[PlannedRow] | Page[RowProblem]
    rows: Sequence[ShownRow]
    problems: Sequence[RowProblem]

    @property
    def n_errors(self) -> int:
        return self.plan.count_checked(Level.ERROR)

    @property
    def n_warnings(self) -> int:
        return self.plan.count_checked(Level.WARNING)


def difference(plan: ImportPlan, show: str, number: str | None) -> Difference:
    """The page of this number. Problems come first where there are some, else what changes."""
    counts = [(PROBLEMS, len(plan.problems)), *((str(a), plan.count(a)) for a in Action)]
    if show not in dict(counts):
        show = next((name for name, n in counts if n), str(Action.UNCHANGED))
    if show == PROBLEMS:
        problems = Paginator(plan.problems, PER_PAGE).get_page(number)
        return Difference(plan, show, counts, problems, (), list(problems))
    chosen = [row for row in plan.rows if row.action == show]
    page = Paginator(chosen, PER_PAGE).get_page(number)
    return Difference(plan, show, counts, page, [ShownRow.of(row) for row in page], ())
