"""Tables as R reads and writes them: read.csv and write.csv, with factors or without."""

import csv
import io
import re
from collections.abc import Mapping, Sequence

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
LOGICAL = {"T": True, "F": False, "TRUE": True, "FALSE": False, "true": True, "false": False}
Column = Sequence[str | float | bool | None]
Frame = Mapping[str, Column]


def read_csv(data: bytes, na: Sequence[str] = ("NA",), *, as_text: bool = False) -> Frame:
    """As read.csv with its defaults: columns of logical values or numbers are such, in which empty cells are missing; in texts they are texts.

    as_text: with colClasses = "character".
    """
    names, *rows = csv.reader(io.StringIO(data.decode(), newline=""))
    columns = zip(*rows, strict=True)
    typed = _texts if as_text else _typed
    return {name: typed(cells, na) for name, cells in zip(names, columns, strict=True)}


def _texts(cells: Sequence[str], na: Sequence[str]) -> Column:
    return [None if cell in na else cell for cell in cells]


def _typed(cells: Sequence[str], na: Sequence[str]) -> Column:
    said = [cell for cell in cells if cell not in ("", *na)]
    if all(cell in LOGICAL for cell in said):  # also where all are missing
        return [LOGICAL.get(cell) for cell in cells]
    if all(NUMBER.fullmatch(cell.strip()) for cell in said):
        return [None if cell in ("", *na) else float(cell) for cell in cells]
    return _texts(cells, na)


def write_csv(frame: Frame, *, row_names: bool = True) -> bytes:
    """As write.csv: texts, factors and names in quotation marks, and NA without them."""
    lines = [",".join([*['""'] * row_names, *map(_quoted, frame)])]
    for n, row in enumerate(zip(*frame.values(), strict=True), start=1):
        lines.append(",".join([*[_quoted(str(n))] * row_names, *map(_cell, row)]))
    return ("\n".join(lines) + "\n").encode()


def _cell(value: str | float | bool | None) -> str:
    match value:
        case None:
            return "NA"
        case bool():
            return str(value).upper()
        case str():
            return _quoted(value)
        case _:
            return f"{value:.15g}"


def _quoted(text: str) -> str:
    return '"{}"'.format(text.replace('"', '""'))
