"""Reference corpora: texts in a JSONL or CSV file, one a row, that a model is asked how well it knows them."""

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib.files import not_json, read_regular
from scoring.domain.backend import ScoringError

MAX_FIELD = 2**31 - 1  # the csv module's own limit would end at 131,072 characters


@dataclass(frozen=True)
class CorpusRow:
    """A text of a corpus; rows are numbered from 1 in the file's order."""

    row: int
    text: str
    text_id: str

    @property
    def name(self) -> str:
        return f"row {self.row} ({self.text_id})" if self.text_id else f"row {self.row}"


def describe_corpus(path: Path, text_column: str = "text", id_column: str = "id") -> dict[str, str]:
    """What a run remembers of a corpus' file, to read the same texts again.

    Raises:
        ScoringError: the file cannot be read.
    """
    digest = hashlib.sha256(_bytes(path)).hexdigest()
    return {
        "path": str(path.resolve()),
        "sha256": digest,
        "text_column": text_column,
        "id_column": id_column,
    }


def read_corpus(about: Mapping[str, Any]) -> list[CorpusRow]:
    """The texts of a file that `describe_corpus` described.

    Raises:
        ScoringError: it cannot be read, holds no text, or is not the same any more; line numbers are named.
    """
    path = Path(about["path"])
    content = _bytes(path)
    if hashlib.sha256(content).hexdigest() != about["sha256"]:
        raise ScoringError(f"{path} has changed since the run began: start a new one.")
    readers = {".jsonl": _jsonl_rows, ".ndjson": _jsonl_rows, ".csv": _csv_rows}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ScoringError(f"{path} is neither a .jsonl nor a .csv file.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ScoringError(f"{path}, line {line}: this is not UTF-8.") from error
    rows: list[CorpusRow] = []
    for line, values in reader(path, text):
        found = _text(path, line, values, about["text_column"])
        text_id = str(values.get(about["id_column"]) or "").replace("\x00", "")[:200]
        rows.append(CorpusRow(len(rows) + 1, found, text_id))
    if not rows:
        raise ScoringError(f"{path} holds no text.")
    return rows


def _bytes(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise ScoringError(f"{path} cannot be read: {error.strerror or error}.") from error


def _jsonl_rows(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for line, written in enumerate(io.StringIO(text, newline="\n"), start=1):
        if not written.strip():
            continue
        try:
            values = json.loads(written)
        except (
            ValueError,
            RecursionError,
        ) as error:  # a number of 5,000 digits is no JSONDecodeError
            raise ScoringError(
                f"{path}, line {line}: this is not JSON ({not_json(error)})."
            ) from error
        if not isinstance(values, dict):
            raise ScoringError(f"{path}, line {line}: a line must hold an object, {{...}}.")
        yield line, values


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    before = csv.field_size_limit(MAX_FIELD)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for values in reader:
            yield reader.line_num, values
    except csv.Error as error:
        # Counted so far: up to the last row that was read
        raise ScoringError(f"{path}, line {reader.line_num + 1}: {error}.") from error
    finally:
        csv.field_size_limit(before)


def _text(path: Path, line: int, values: Mapping[str, Any], column: str) -> str:
    text = values.get(column)
    if not isinstance(text, str):
        there = ", ".join(str(name) for name in values if name is not None)
        raise ScoringError(f"{path}, line {line}: no text in “{column}” (there is: {there}).")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ScoringError(
            f"{path}, line {line}: half a character (a lone surrogate) at {error.start + 1}."
        ) from error
    return text
