"""Rows of whole tables: read from an SQLite file, a PostgreSQL dump or a PostgreSQL server, and written to the first and the last."""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import psycopg
from psycopg import sql

from lib.backup.columns import Form, Value
from lib.backup.manifest import BackupError
from lib.backup.postgres import ENDS_WITH, script

Row = tuple[Value, ...]
_NAME = r'(?:(?:"(?:[^"]|"")+"|\w+)\.)?("(?:[^"]|"")+"|\w+)'  # the schema is not asked for
_COPY = re.compile(rf"COPY {_NAME} \((.*)\) FROM stdin;\n")
_IDENTITY = re.compile(rf"ALTER TABLE (?:ONLY )?{_NAME} ALTER COLUMN .* ADD GENERATED .* AS IDENTITY \(\n")  # fmt: skip
_NAMED = re.compile(rf"\s+SEQUENCE NAME {_NAME}\n")
_OWNED = re.compile(rf"ALTER SEQUENCE {_NAME} OWNED BY (.*)\.[^.]+;\n")
_SETVAL = re.compile(rf"SELECT pg_catalog\.setval\('{_NAME}', (\d+), (true|false)\);\n")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_MEANT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class Table:
    """A table with the forms of its columns, the key first."""

    name: str
    forms: Mapping[str, Form]
    counts: bool  # the database gives the keys

    @property
    def columns(self) -> list[str]:
        return list(self.forms)

    @property
    def key(self) -> str:
        return self.columns[0]

    def converted(self, rows: Iterable[Sequence[Any]], way: str) -> Iterator[Row]:
        """Each value by that function of its form; BackupError names the row and column of one that cannot be kept."""
        convert = [getattr(form, way) for form in self.forms.values()]
        for row in rows:
            try:
                yield tuple(
                    [None if v is None else f(v) for f, v in zip(convert, row, strict=True)]
                )
            except (ValueError, TypeError, ArithmeticError) as error:
                raise BackupError(self._place(convert, row)) from error

    def _place(self, convert: Sequence[Any], row: Sequence[Any]) -> str:
        key = row[0].decode(errors="replace") if isinstance(row[0], bytes) else row[0]
        for column, function, value in zip(self.columns, convert, row, strict=False):
            try:
                if value is not None:
                    function(value)
            except (ValueError, TypeError, ArithmeticError) as error:
                return f"{self.name}, {self.key} {key}, column {column}: {error}."
        return f"{self.name}, {self.key} {key}: {len(row)} columns. Expected: {len(convert)}."


class Source(Protocol):
    """Each table once, whose rows must be read before the next table is asked for; the highest keys are known after the last."""

    last_keys: dict[str, int]  # that were ever given, by table

    def tables(self, wanted: Mapping[str, Table]) -> Iterator[tuple[Table, Iterator[Row]]]: ...


class Target(Protocol):
    """Tables of a database that nobody else uses. Keys are given after those that were ever given."""

    def clear(self, table: Table) -> None: ...
    def write(self, table: Table, rows: Iterable[Row]) -> None: ...
    def read(self, table: Table) -> Iterator[Row]: ...
    def set_last_key(self, table: Table, key: int) -> None: ...
    def last_key(self, table: Table) -> int: ...


class SqliteRows:
    """An SQLite file, from which rows are read or to which they are written."""

    def __init__(self, file: sqlite3.Connection) -> None:
        file.text_factory = bytes  # a text that is not UTF-8 is then found with its row
        self.file = file
        self.last_keys: dict[str, int] = {}

    def tables(self, wanted: Mapping[str, Table]) -> Iterator[tuple[Table, Iterator[Row]]]:
        given = self.file.execute("SELECT name, seq FROM sqlite_sequence")
        self.last_keys = {name.decode(): last for name, last in given}
        for table in wanted.values():
            found = self.file.execute(f"PRAGMA table_info({_quoted(table.name)})")
            expect_columns(table, [column[1].decode() for column in found])
            yield table, self.read(table)

    def clear(self, table: Table) -> None:
        self.file.execute(f"DELETE FROM {_quoted(table.name)}")  # noqa: S608

    def write(self, table: Table, rows: Iterable[Row]) -> None:
        columns = ", ".join(map(_quoted, table.columns))
        values = ", ".join("?" * len(table.columns))
        statement = f"INSERT INTO {_quoted(table.name)} ({columns}) VALUES ({values})"  # noqa: S608
        try:
            self.file.executemany(statement, table.converted(rows, "to_sqlite"))
        except sqlite3.Error as error:
            raise BackupError(f"SQLite does not take the rows of {table.name}: {error}.") from error

    def read(self, table: Table) -> Iterator[Row]:
        columns = ", ".join(map(_quoted, table.columns))
        rows = self.file.execute(f"SELECT {columns} FROM {_quoted(table.name)}")  # noqa: S608
        return table.converted(rows, "from_sqlite")

    def set_last_key(self, table: Table, key: int) -> None:
        self.file.execute("DELETE FROM sqlite_sequence WHERE name = ?", [table.name])
        self.file.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [table.name, key])  # fmt: skip

    def last_key(self, table: Table) -> int:
        asked = "SELECT seq FROM sqlite_sequence WHERE name = ?"
        return int(self.file.execute(asked, [table.name]).fetchone()[0])


class PostgresRows:
    """A PostgreSQL database, within a transaction."""

    def __init__(self, cursor: "psycopg.Cursor[Any]") -> None:
        self.cursor = cursor
        cursor.execute("SET LOCAL datestyle = 'ISO'; SET LOCAL bytea_output = 'hex'")

    def clear(self, table: Table) -> None:
        self.cursor.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table.name)))

    def write(self, table: Table, rows: Iterable[Row]) -> None:
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(*_identifiers(table))
        try:
            with self.cursor.copy(statement) as copy:
                for row in table.converted(rows, "to_copy"):
                    line = "\t".join(["\\N" if value is None else value for value in row])  # type: ignore[misc]
                    copy.write(line + "\n")
        except psycopg.Error as error:
            raise BackupError(refusal(error, f"the rows of {table.name}")) from error

    def read(self, table: Table) -> Iterator[Row]:
        name, columns = _identifiers(table)
        statement = sql.SQL("COPY {} ({}) TO STDOUT").format(name, columns)
        with self.cursor.copy(statement) as copy:
            yield from table.converted((fields(bytes(line)) for line in copy), "from_copy")

    def set_last_key(self, table: Table, key: int) -> None:
        asked = "SELECT setval(pg_get_serial_sequence(%s, %s), greatest(%s, 1), %s)"
        self.cursor.execute(asked, [_quoted(table.name), table.key, key, key > 0])

    def last_key(self, table: Table) -> int:
        asked = (
            "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence(%s, %s)::regclass), 0)"
        )
        row = self.cursor.execute(asked, [_quoted(table.name), table.key]).fetchone()
        assert row is not None
        return int(row[0])


@dataclass
class DumpRows:
    """A dump of PostgreSQL's, which is read from its beginning to its end without a server."""

    file: Path
    server: int  # the major version that wrote it
    last_keys: dict[str, int] = field(default_factory=dict)

    def tables(self, wanted: Mapping[str, Table]) -> Iterator[tuple[Table, Iterator[Row]]]:
        altered, owners, is_whole = "", {}, False
        with script(self.file, self.server) as lines:
            for line in map(bytes.decode, lines):
                is_whole = is_whole or line.rstrip() == ENDS_WITH
                if found := _COPY.fullmatch(line):
                    columns = [_plain(name) for name in found[2].split(", ")]
                    if table := wanted.get(_plain(found[1])):
                        expect_columns(table, columns)
                        order = [columns.index(name) for name in table.columns]
                        rows = ([row[n] for n in order] for row in _data(lines))
                        yield table, table.converted(rows, "from_copy")
                    else:
                        for _ in _data(lines):
                            pass
                elif found := _IDENTITY.fullmatch(line):
                    altered = _plain(found[1])
                elif found := _NAMED.fullmatch(line):
                    owners[found[1]] = altered
                elif found := _OWNED.fullmatch(line):
                    owners[found[1]] = _plain(found[2].rpartition(".")[2])
                elif (found := _SETVAL.fullmatch(line)) and (owner := owners.get(found[1])):
                    self.last_keys[owner] = int(found[2]) - (found[3] == "false")
        if not is_whole:
            raise BackupError(f"{self.file} is incomplete.")


def expect_columns(table: Table, found: Sequence[str]) -> None:
    """BackupError where the backup's table has other columns than its migrations make: they would be lost."""
    if odd := sorted(set(found) ^ set(table.columns)):
        where = "in the backup only" if odd[0] in found else "not in the backup"
        raise BackupError(
            f"{table.name} has the column {odd[0]} {where}, which its migrations do not explain. Restore it to the same "
            "kind of database."
        )


def fields(line: bytes) -> list[str | None]:
    r"""The fields of a line of COPY.

    >>> fields(b'1\t\\N\tone\\ntwo\\\\\n')
    ['1', None, 'one\ntwo\\']
    """
    return [
        None if text == "\\N" else _ESCAPE.sub(_meant, text) if "\\" in text else text
        for text in line.decode().removesuffix("\n").split("\t")
    ]


def refusal(error: psycopg.Error, what: str) -> str:
    """PostgreSQL's own words, with the values that it names."""
    detail = f" {error.diag.message_detail}" if error.diag.message_detail else ""
    return f"PostgreSQL does not take {what}: {error.diag.message_primary or error}.{detail}"


def _meant(found: re.Match[str]) -> str:
    return _MEANT.get(found[1], found[1])


def _data(lines: Iterable[bytes]) -> Iterator[list[str | None]]:
    """Rows up to the line that ends them; a dump that was cut ends before it, and is refused at its end."""
    for line in lines:
        if line == b"\\.\n":
            return
        yield fields(line)


def _plain(name: str) -> str:
    """A name without the quotes that pg_dump gives to some."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _identifiers(table: Table) -> tuple[sql.Identifier, sql.Composed]:
    return sql.Identifier(table.name), sql.SQL(", ").join(map(sql.Identifier, table.columns))
