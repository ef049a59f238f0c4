"""A CSV file with cells, rows and columns that are not as they were."""

import csv
import io
import random
from typing import Literal

from benchmarks.trust.fuzz.breaking.values import altered, hostile

Rows = list[list[str]]


def broken_table(rng: random.Random, data: bytes, delimiter: str = ",") -> bytes:
    """One to three changes to a good file, which may be written in another way, too."""
    rows = list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter))
    for _ in range(rng.choice((1, 1, 2, 3))):
        _break(rng, rows)
    return _written(rng, rows, delimiter)


def _break(rng: random.Random, rows: Rows) -> None:
    if rows and rows[0]:
        rng.choice((_break_cell, _break_cell, _break_rows, _break_columns))(rng, rows)


def _break_cell(rng: random.Random, rows: Rows) -> None:
    row = rng.choice(rows)
    at = rng.randrange(len(row)) if row else 0
    match rng.randrange(4):
        case 0:
            row.insert(at, hostile(rng))
        case 1:
            del row[at:]
        case _ if row:
            row[at] = hostile(rng) if rng.random() < 0.3 else altered(rng, row[at])


def _break_rows(rng: random.Random, rows: Rows) -> None:
    row = rng.choice(rows)
    match rng.randrange(3):
        case 0:
            rows.insert(rng.randint(0, len(rows)), list(row))
        case 1:
            rows.remove(row)
        case _:
            rng.shuffle(rows)


def _break_columns(rng: random.Random, rows: Rows) -> None:
    at = rng.randrange(len(rows[0]))
    match rng.randrange(3):
        case 0:
            for row in rows:
                del row[at : at + 1]
        case 1:
            for row in rows:
                row += row[at : at + 1] or [""]
        case _:
            rows[0][at] = rng.choice([*rows[0], hostile(rng)])


_QUOTING: tuple[Literal[0, 1, 3], ...] = (csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONE)


def _written(rng: random.Random, rows: Rows, delimiter: str) -> bytes:
    quoting = rng.choice(_QUOTING)
    mark = delimiter if rng.random() < 0.8 else rng.choice(",;\t|")
    file = io.StringIO(newline="")
    writer = csv.writer(
        file,
        delimiter=mark,
        quoting=quoting,
        escapechar="\\",
        lineterminator=rng.choice(("\n", "\r\n")),
    )
    # A row of one empty cell can only be written with quotes
    bare = quoting == csv.QUOTE_NONE
    writer.writerows([] if bare and row == [""] else row for row in rows)
    return file.getvalue().encode("utf-8", "surrogatepass")
