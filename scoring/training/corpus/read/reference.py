"""Reads a file of reference texts that a model is asked how well it knows: JSON lines, or a table or sheet with a text a row."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from lib import strict_json
from lib.files import not_json
from lib.spreadsheets import SpreadsheetError, read_sheet
from lib.tables import TableReader, decoded, shown, under
from scoring.domain.backend import ScoringError
from scoring.training.corpus.read.local import SHEETS, no_text

LONGEST_ID = 200  # characters


@dataclass(frozen=True, slots=True)
class ReferenceText:
    text: str
    id: str


def read_texts(data: bytes, path: Path, text_column: str, id_column: str) -> list[ReferenceText]:
    """The texts of a file in its order; `path` names it, and says by its ending what it is.

    Raises:
        ScoringError: it cannot be read, or holds no text; lines, or the sheet and its rows, are named.
    """
    texts = []
    for place, values in _rows(path, data, (text_column, id_column)):
        found = under(text_column, values)
        if not isinstance(found, str):
            raise ScoringError(f"{path}, {place}: {no_text(text_column, values)}.")
        try:
            found.encode()
        except UnicodeEncodeError as error:
            raise ScoringError(
                f"{path}, {place}: half a character (a lone surrogate) at {error.start + 1}."
            ) from error
        own = str(under(id_column, values) or "").replace("\x00", "")[:LONGEST_ID]
        texts.append(ReferenceText(found, own))
    if not texts:
        raise ScoringError(f"{path} does not contain any text.")
    return texts


Rows = Iterator[tuple[str, Mapping[str, Any]]]  # each with its place


def _rows(path: Path, data: bytes, columns: Sequence[str]) -> Rows:
    suffix = path.suffix.lower()
    if suffix in SHEETS:
        yield from _sheet_rows(path, data, columns)
        return
    reader = READERS.get(suffix)
    if reader is None:
        raise ScoringError(f"{path} is neither a .jsonl nor a .csv, .tsv, .xlsx or .ods file.")
    try:
        text = decoded(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ScoringError(f"{path}, line {line}: this is not UTF-8.") from error
    yield from reader(path, text, columns)


def _sheet_rows(path: Path, data: bytes, columns: Sequence[str]) -> Rows:
    try:
        sheet = read_sheet(data, columns)
    except SpreadsheetError as error:
        raise ScoringError(f"{path}: {error}") from error
    for number, cells in sheet.rows:
        place = f"sheet {shown(sheet.name)}, row {number}"
        yield place, dict(zip(sheet.columns, cells, strict=True))


def _jsonl_rows(path: Path, text: str, columns: Sequence[str]) -> Rows:
    for line, written in enumerate(io.StringIO(text, newline="\n"), start=1):
        if not written.strip():
            continue
        try:
            values = strict_json.loads(written)
        except (
            ValueError,
            RecursionError,
        ) as error:  # a number of 5,000 digits is no JSONDecodeError
            raise ScoringError(
                f"{path}, line {line}: this is not JSON ({not_json(error)})."
            ) from error
        if not isinstance(values, dict):
            raise ScoringError(f"{path}, line {line}: a line must be an object, {...}.")
        yield f"line {line}", values


def _csv_rows(path: Path, text: str, columns: Sequence[str]) -> Rows:
    def refuse(line: int, why: str) -> NoReturn:
        raise ScoringError(f"{path}, line {line}: {why}.")

    delimiter = "\t" if path.suffix.lower() == ".tsv" else ""
    table = TableReader(io.StringIO(text, newline=""), refuse, columns, delimiter)
    for cells in table:
        yield f"line {table.first_line}", dict(zip(table.columns, cells, strict=True))


# By the ending of a file's name
READERS = {".jsonl": _jsonl_rows, ".ndjson": _jsonl_rows, ".csv": _csv_rows, ".tsv": _csv_rows}
ENDINGS = (*READERS, *SHEETS)
