"""Rows of CSV, JSON lines or Parquet, as texts by column."""

import io
from collections.abc import Collection
from typing import Any

from experiment.imports.read.items.contents import PARQUET, FileRefusedError, text_of
from experiment.imports.read.items.problems import quoted
from experiment.imports.read.items.tables import Table, TextRow, read_table
from lib.newlines import with_unix_newlines

MOST_ROWS = 200_000
MOST_UNPACKED = 512 * 1024 * 1024  # bytes


def read_rows(data: bytes, known: Collection[str]) -> Table:
    """`known` columns decide what separates the cells of CSV.

    Raises:
        FileRefusedError: it is no such file, too large, holds no row, or columns have the same name.
    """
    if data.startswith(PARQUET):
        table = _read_parquet(data)
    else:
        table = read_table(text_of(data), known, with_numbers=True)
    if len(table.rows) > MOST_ROWS:
        raise FileRefusedError(f"The file has more than {MOST_ROWS:,} rows: split it.")
    if not (table.rows or table.problems):
        raise FileRefusedError("The file names its columns, and has no row below them.")
    return table


def _read_parquet(data: bytes) -> Table:
    import pyarrow as pa  # loaded where it is asked for: it is large

    try:
        read = _unpacked(data)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileRefusedError(
            f"The file cannot be read as Parquet ({quoted(str(error))})."
        ) from error
    columns = [name.strip().casefold() for name in read.column_names]
    if len(set(columns)) < len(columns):
        raise FileRefusedError("Several columns have the same name.")
    cells = [column.to_pylist() for column in read.columns]
    rows = (dict(zip(columns, map(_text, row), strict=True)) for row in zip(*cells, strict=True))
    return Table(columns, [TextRow(number, number, row) for number, row in enumerate(rows, 1)])


def _unpacked(data: bytes) -> Any:
    """The table, refused before it takes more memory than a file of texts may: one value can stand for many rows."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(io.BytesIO(data))
    about, schema = file.metadata, file.schema_arrow
    for column in schema:
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            raise FileRefusedError(f"Column {quoted(column.name)} holds no texts or numbers.")
    groups = (about.row_group(n) for n in range(about.num_row_groups))
    too_much = FileRefusedError(
        f"The file has more than {MOST_ROWS:,} rows or {MOST_UNPACKED // 2**20} MB: split it."
    )
    if about.num_rows > MOST_ROWS or sum(g.total_byte_size for g in groups) > MOST_UNPACKED:
        raise too_much
    texts = [
        column.name
        for column in schema
        if _is_text(getattr(column.type, "value_type", column.type))
    ]
    read = ParquetFile(io.BytesIO(data), read_dictionary=texts).read()
    n_bytes = 0
    for name in texts:
        for chunk in read.column(name).chunks:
            lengths = pc.binary_length(chunk.dictionary)
            n_bytes += pc.sum(pc.take(lengths.cast(pa.int64()), chunk.indices)).as_py() or 0
    if n_bytes > MOST_UNPACKED:
        raise too_much
    return read


def _is_text(kind: Any) -> bool:
    """Of a column, or of what its dictionary holds."""
    import pyarrow as pa

    t = pa.types
    return bool(t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else with_unix_newlines(str(value))
