"""A template filled from the rows of a file that somebody gives: what it makes of each. Plain Python: no database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiment.domain.questions.filling import Filling, Template, TemplateFaultsError, fill
from experiment.domain.questions.values import slot_name
from experiment.imports.read.rows import MOST_ROWS, read_rows

RULE = "rule"  # a stratum that every table has: which rule gave the answer
MOST_FAULTS = 20


@dataclass(frozen=True, slots=True)
class FilledTable:
    """strata: of the row of each pair, the values over which questions are spread."""

    n_rows: int
    filling: Filling
    strata: Mapping[int, Sequence[str]]


def fill_table(
    data: bytes,
    template: Template,
    strata: Sequence[str],
    unique_answers: bool,
    most: int = MOST_ROWS,
    sheet: str = "",
) -> FilledTable:
    """The questions from a table's bytes, of any kind that `read_rows` takes; of so many rows at most.

    Raises:
        ChooseSheetError: it is a spreadsheet of several tables.
        FileRefusedError: it is no table.
        TemplateFaultsError: rows that cannot be read, slots or strata that are no columns, or a template without texts.
    """
    table = read_rows(data, (), most, sheet)
    if table.problems:
        raise TemplateFaultsError([f"the table: {one}" for one in table.problems[:MOST_FAULTS]])
    rows = [{name: row.cells.get(name, "") for name in table.columns} for row in table.rows]
    columns = {slot_name(column): column for column in table.columns}
    if unknown := [name for name in strata if name not in (*columns, RULE)]:
        there = ", ".join(columns)
        faults = [f"the table does not have a column “{n}” (columns: {there})" for n in unknown]
        raise TemplateFaultsError(faults)
    filling = fill(template, rows, unique_answers=unique_answers)
    of_pairs = {
        pair.row: [
            rows[pair.row - 1][columns[name]] if name in columns else str(pair.rule)
            for name in strata
        ]
        for pair in filling.pairs
    }
    return FilledTable(len(rows), filling, of_pairs)
