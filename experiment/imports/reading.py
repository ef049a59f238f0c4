"""Files from outside, read in a process of its own, within limits (lib/confined.py): pages and commands read no other way.

most: rows, of which a page takes fewer than a command. sheet: of a spreadsheet; empty for the one with the known columns.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from experiment.domain.questions.filling import Template, TemplateFaultsError
from experiment.imports.read.filled import FilledTable, fill_table
from experiment.imports.read.items import BY_PEOPLE, Defaults, ItemsFile, read_items
from experiment.imports.read.questions import QuestionsFile, read_questions
from experiment.imports.read.rows import (
    MOST_ROWS,
    ChooseSheetError,
    FileRefusedError,
    RowProblem,
    Table,
    read_known,
)
from lib.confined import ConfinedError, confined

AS_NAMED: Mapping[str, str] = MappingProxyType({})


def items_of(
    data: bytes,
    defaults: Defaults = BY_PEOPLE,
    columns: Mapping[str, str] = AS_NAMED,
    most: int = MOST_ROWS,
    unit: str = "row",
    sheet: str = "",
) -> ItemsFile:
    """As `read_items`; one problem, of no row, where it takes too much."""
    try:
        return confined(read_items, data, defaults, columns, most, unit, sheet)
    except ConfinedError as error:
        return ItemsFile(problems=[RowProblem(str(error))])


def questions_of(
    data: bytes,
    columns: Mapping[str, str] = AS_NAMED,
    most: int = MOST_ROWS,
    sheet: str = "",
) -> QuestionsFile:
    """As `read_questions`; one problem, of no row, where it takes too much."""
    try:
        return confined(read_questions, data, columns, most, sheet)
    except ConfinedError as error:
        return QuestionsFile(problems=[RowProblem(str(error))])


def filled_of(
    data: bytes,
    template: Template,
    strata: Sequence[str],
    unique_answers: bool,
    most: int = MOST_ROWS,
    sheet: str = "",
) -> FilledTable:
    """As `fill_table`.

    Raises:
        ChooseSheetError: as there.
        FileRefusedError: also where it takes too much.
        TemplateFaultsError: as there.
    """
    refusals = [ChooseSheetError, FileRefusedError, TemplateFaultsError]
    try:
        how = (strata, unique_answers, most, sheet)
        return confined(fill_table, data, template, *how, refusals=refusals)
    except ConfinedError as error:
        raise FileRefusedError(str(error)) from error


def table_of(
    data: bytes, names: Mapping[str, str], most: int = MOST_ROWS, sheet: str = ""
) -> Table:
    """As `read_known`.

    Raises:
        ChooseSheetError: as there.
        FileRefusedError: also where it takes too much.
    """
    refusals = [ChooseSheetError, FileRefusedError]
    try:
        return confined(read_known, data, names, most, sheet, refusals=refusals)
    except ConfinedError as error:
        raise FileRefusedError(str(error)) from error
