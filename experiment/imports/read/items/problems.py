"""What is wrong with a file of test cases, and where."""

from dataclasses import dataclass

from experiment.domain.item_checks.characters import visible
from experiment.imports.read.tables import shown


@dataclass(frozen=True, slots=True)
class RowProblem:
    """What keeps a file from being imported.

    row: of data, from 1: the line of column names is none. line: of the file, from 1, where the row begins. Both None
    where it is about the whole file.
    """

    message: str
    row: int | None = None
    line: int | None = None
    column: str | None = None

    def __str__(self) -> str:
        row = "" if self.row is None else f"row {self.row}"
        line = "" if self.line is None else f"line {self.line}"
        column = "" if self.column is None else f"column “{self.column}”"
        where = ", ".join(part for part in (row, line, column) if part)
        return f"{where}: {self.message}" if where else self.message


def quoted(text: str) -> str:
    """The beginning of a text for a message, its unseen characters spelled out."""
    return visible(shown(text))
