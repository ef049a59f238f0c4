"""A list as one file: CSV, JSON Lines, Parquet or a spreadsheet, written whole before its first byte is sent."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import IO, Any, BinaryIO

from django.http import FileResponse
from rest_framework import serializers

from lib.table_files import CONTENT_TYPES, TooLargeForSheetError, Values, writing

FORMATS = tuple(CONTENT_TYPES)
Field = serializers.Field[Any, Any, Any, Any]
Fields = Mapping[str, Field]
Blocks = Iterable[Sequence[Mapping[str, Any]]]
TYPES: Mapping[type[Field], str] = {
    serializers.IntegerField: "integer",
    serializers.FloatField: "number",
    serializers.BooleanField: "boolean",
    serializers.DateTimeField: "time",
    serializers.DateField: "date",
}
DATES: Mapping[str, Callable[[str], Any]] = {"date": date.fromisoformat}
# Types that a file has and texts have not
READ: Mapping[str, Mapping[str, Callable[[str], Any]]] = {
    "parquet": {**DATES, "time": datetime.fromisoformat},
    "xlsx": DATES,
}


@dataclass(frozen=True, slots=True)
class Column:
    """A serializer's field, as files describe columns."""

    name: str
    meaning: str
    type: str
    null: str = "there is none"


def send(kind: str, name: str, write: Callable[[BinaryIO], object]) -> FileResponse:
    """A response with what `write` writes. Its length is sent first, so that a program knows when something is missing."""
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile())
        write(file)
        file.seek(0)
        stack.pop_all()  # from here on the response closes it
    return attached(kind, name, file)


def attached(kind: str, name: str, file: IO[bytes]) -> FileResponse:
    return FileResponse(
        file, as_attachment=True, filename=f"{name}.{kind}", content_type=CONTENT_TYPES[kind]
    )


@contextmanager
def _fitting() -> Iterator[None]:
    try:
        yield
    except TooLargeForSheetError as error:
        raise serializers.ValidationError({"format": str(error)}) from error


def write(kind: str, fields: Fields, blocks: Blocks, file: BinaryIO) -> None:
    """Rows as a serializer with these fields gives them, a block at a time."""
    columns = []
    for name, field in fields.items():
        kinds = (kind for known, kind in TYPES.items() if isinstance(field, known))
        columns.append(Column(name, str(field.help_text or ""), next(kinds, "text")))
    # In texts, times stand as the pages have them
    typed = READ.get(kind, {})
    with _fitting(), writing(kind, file, columns) as append:
        for block in blocks:
            values: list[Values] = []
            for column in columns:
                read, cells = typed.get(column.type), [row[column.name] for row in block]
                if read is not None:
                    cells = [read(cell) if isinstance(cell, str) else cell for cell in cells]
                values.append(cells)
            append(values)
