"""Tables as files: blocks of typed columns as bytes of CSV, JSON Lines, Parquet and spreadsheets."""

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from itertools import islice
from typing import Any, BinaryIO, Protocol

from django.utils import timezone

from lib import csv
from lib.csv_lines import line

Values = Sequence[Any]
Block = Sequence[Values]  # a column each, of as many rows

ZIP_TYPE = "application/zip"
CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
BOM = "\ufeff".encode()
ROWS = 2_000  # of a block
ROW_GROUP = 20_000  # rows of a Parquet file that are in memory at once
Write = Callable[[Block], None]


class Column(Protocol):
    """A column of a file: `type` is text, integer, number, boolean, date or time; `null` is empty where a cell never is."""

    @property
    def name(self) -> str: ...
    @property
    def meaning(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def null(self) -> str: ...


class TooLargeForSheetError(Exception):
    """The table does not fit a spreadsheet; the message says why, and what to do."""


class Digesting:
    """A file that is only appended to, and the SHA-256 of what was."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest, self._at = file, hashlib.sha256(), 0

    def write(self, content: Any) -> int:
        self._file.write(content)
        self.digest.update(content)
        self._at += memoryview(content).nbytes
        return memoryview(content).nbytes

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        self._file.flush()


def in_blocks(rows: Iterable[Sequence[Any]]) -> Iterator[Block]:
    """Rows, so many at a time, as columns.

    >>> list(in_blocks([(1, "a"), (2, "b")]))
    [[(1, 2), ('a', 'b')]]
    """
    stream = iter(rows)
    while some := list(islice(stream, ROWS)):
        yield list(zip(*some, strict=True))


def csv_lines(columns: Sequence[Column], blocks: Iterable[Block]) -> Iterator[bytes]:
    """A CSV file, a block at a time, as a page sends it while it reads on."""
    yield line(csv.field(column.name) for column in columns)
    for block in blocks:
        yield _csv_rows(block)


def _csv_rows(block: Block) -> bytes:
    return b"".join(map(line, zip(*map(csv.fields, block), strict=True)))


@contextmanager
def writing(
    format_name: str, file: BinaryIO, columns: Sequence[Column], *, bom: bool = False
) -> Iterator[Write]:
    """A function that appends a block; the file is whole once the context is left."""
    with _WRITERS[format_name](file, columns) as write:
        if bom:
            file.write(BOM)
        yield write


@contextmanager
def _csv(file: BinaryIO, columns: Sequence[Column]) -> Iterator[Write]:
    is_begun = False

    def write(block: Block) -> None:
        nonlocal is_begun
        if not is_begun:
            is_begun = True
            file.write(line(csv.field(column.name) for column in columns))
        file.write(_csv_rows(block))

    yield write
    if not is_begun:
        write([()] * len(columns))


@contextmanager
def _jsonl(file: BinaryIO, columns: Sequence[Column]) -> Iterator[Write]:
    names = [column.name for column in columns]
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

    def write(block: Block) -> None:
        rows = zip(*map(_plain, block), strict=True)
        lines = (encode(dict(zip(names, row, strict=True))) + "\n" for row in rows)
        file.write("".join(lines).encode())

    yield write


@contextmanager
def _parquet(file: BinaryIO, columns: Sequence[Column]) -> Iterator[Write]:
    import pyarrow as pa  # loaded where it is asked for: it is large
    from pyarrow.parquet import ParquetWriter

    types = {
        "text": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "time": pa.timestamp("us", tz="UTC"),
    }
    meanings = [{"description": column.meaning} for column in columns]
    schema = pa.schema(
        pa.field(column.name, types[column.type], nullable=bool(column.null), metadata=meaning)
        for column, meaning in zip(columns, meanings, strict=True)
    )
    waiting: list[Any] = []

    def flush(writer: ParquetWriter) -> None:
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting, schema))
            waiting.clear()

    with ParquetWriter(file, schema, compression="zstd") as writer:

        def write(block: Block) -> None:
            arrays = [pa.array(v, f.type) for v, f in zip(block, schema, strict=True)]
            waiting.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
            if sum(batch.num_rows for batch in waiting) >= ROW_GROUP:
                flush(writer)

        yield write
        flush(writer)


@contextmanager
def _xlsx(file: BinaryIO, columns: Sequence[Column]) -> Iterator[Write]:
    from lib.workbook import Workbook  # loaded where it is asked for: few ask

    with Workbook(file, columns) as book:
        yield lambda block: book.write(map(_iso, block))


_WRITERS = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet, "xlsx": _xlsx}


def table_bytes(
    format_name: str, columns: Sequence[Column], rows: Iterable[Sequence[Any]]
) -> bytes:
    """A table as a file's content; a spreadsheet says on its second sheet what the columns mean, where they say so."""
    file = io.BytesIO()
    with writing(format_name, file, columns) as write:
        for block in in_blocks(rows):
            write(block)
    return file.getvalue()


def _iso(column: Values) -> Values:
    """Times as ISO 8601 texts with their zone, which spreadsheets do not know; all else stays."""
    if not isinstance(next((value for value in column if value is not None), None), datetime):
        return column
    zone = timezone.get_current_timezone()
    return [None if at is None else at.astimezone(zone).isoformat() for at in column]


def _plain(column: Values) -> Values:
    """Times and dates as ISO 8601 texts; numbers, booleans and null stay."""
    match next((value for value in column if value is not None), None):
        case datetime():
            return _iso(column)
        case date():
            return [None if day is None else day.isoformat() for day in column]
        case _:
            return column
