"""A list as one file: CSV, JSON Lines or Parquet, written whole before its first byte is sent."""

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import date, datetime
from typing import IO, Any

from django.http import FileResponse
from rest_framework import serializers

from lib.csv import field, line

MEDIA_TYPES = {
    "csv": "text/csv",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
Fields = Mapping[str, serializers.Field[Any, Any, Any, Any]]
Blocks = Iterable[Sequence[Mapping[str, Any]]]


def send(kind: str, name: str, write: Callable[[IO[bytes]], object]) -> FileResponse:
    """What `write` writes. Its length is sent first, so that a program knows when something is missing."""
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile())
        write(file)
        file.seek(0)
        stack.pop_all()  # from here on the response closes it
    charset = "" if kind == "parquet" else "; charset=utf-8"
    return FileResponse(
        file,
        as_attachment=True,
        filename=f"{name}.{kind}",
        content_type=MEDIA_TYPES[kind] + charset,
    )


def write(kind: str, fields: Fields, blocks: Blocks, file: IO[bytes]) -> None:
    """Rows as a serializer with these fields gives them, a block at a time."""
    {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}[kind](fields, blocks, file)


def _csv(fields: Fields, blocks: Blocks, file: IO[bytes]) -> None:
    file.write(line(fields))
    for block in blocks:
        file.writelines(line(field(row[name]) for name in fields) for row in block)


def _jsonl(fields: Fields, blocks: Blocks, file: IO[bytes]) -> None:
    for block in blocks:
        file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n".encode() for row in block)


def _parquet(fields: Fields, blocks: Blocks, file: IO[bytes]) -> None:
    # Here: it takes longer to load than all else, and few ask for it
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {
        serializers.IntegerField: pa.int64(),
        serializers.FloatField: pa.float64(),
        serializers.BooleanField: pa.bool_(),
        serializers.DateTimeField: pa.timestamp("us", "UTC"),
        serializers.DateField: pa.date32(),
    }
    found = {
        name: next((t for known, t in types.items() if isinstance(f, known)), pa.string())
        for name, f in fields.items()
    }
    schema = pa.schema(found.items())
    with pq.ParquetWriter(file, schema) as writer:
        for block in blocks:
            columns = {name: [_typed(row[name], fields[name]) for row in block] for name in fields}
            writer.write_table(pa.table(columns, schema=schema))


def _typed(value: Any, kind: object) -> Any:
    if isinstance(value, str):
        if isinstance(kind, serializers.DateTimeField):
            return datetime.fromisoformat(value)
        if isinstance(kind, serializers.DateField):
            return date.fromisoformat(value)
    return value
