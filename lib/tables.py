"""Tables in text as programs write them: whatever separates their cells and however they call their columns. Knows nothing of what these mean.

Spreadsheets separate cells by commas, semicolons or tabs, may name the mark in a first line ``sep=;``, leave out empty cells at
the end of a row, and add rows and columns in which nothing stands.
"""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from types import MappingProxyType
from typing import Any

from lib.names import printed

DELIMITERS = (",", ";", "\t")
LONGEST_CELL = 64 * 2**20  # characters; the csv module's own limit would end at 131,072
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # Excel's “Unicode text”
_NAMES_MARK = re.compile(r'"?sep=([^"\r\n])"?\s*', re.I)
_BLANK = re.compile(r"[\s,;]*")
_LONGEST_SHOWN = 60
Refuse = Callable[[int, str], None]


def decoded(data: bytes) -> str:
    """The text of a file without its byte order mark: UTF-8, or UTF-16 where such a mark says so. Raises UnicodeDecodeError."""
    return data.decode("utf-16" if data.startswith(UTF_16) else "utf-8-sig")


class TableReader:
    """Iterates over the rows that hold something, each as a list of as many cells as there are columns.

    columns: names as they stand. first_line, last_line: where the last row that was given begins and ends in the file, from 1.
    lines: with their ends, without a byte order mark. refuse: told of the line and why of each row that is not given; where
    that is the header, no row is. known: `folded` names of columns, which decide what separates the cells where neither
    `delimiter` nor the file says so.

    >>> table = TableReader(["sep=;\\n", "a;b\\n", "1,5\\n"], print)
    >>> table.columns, list(table), table.first_line
    (['a', 'b'], [['1,5', '']], 3)
    """

    def __init__(
        self,
        lines: Iterable[str],
        refuse: Refuse,
        known: Collection[str] = (),
        delimiter: str = "",
    ) -> None:
        self.columns: list[str] = []
        self.first_line, self.last_line = 1, 0
        self._refuse = refuse
        csv.field_size_limit(LONGEST_CELL)
        lines = iter(lines)
        for line in lines:
            if named := _NAMES_MARK.fullmatch(line):
                delimiter = named[1]
            elif not _BLANK.fullmatch(line):
                mark = delimiter or _mark(line, known)
                self._rows = self._read(chain([line], lines), mark)
                break
            self.last_line += 1
        else:
            self._rows = iter(())
        header = [cell.strip() for cell in next(self._rows, ())]
        self.columns = [name or f"(column {n} without a name)" for n, name in enumerate(header, 1)]
        if said := same_name(self.columns):
            refuse(self.first_line, said)
            self._rows = iter(())

    def __iter__(self) -> Iterator[list[str]]:
        n = len(self.columns)
        for cells in self._rows:
            if any(map(str.strip, cells[n:])):
                begins = f"it begins with {shown(cells[0])}"
                said = f"has {len(cells)} cells, but the header has {n}; {begins}"
                self._refuse(self.first_line, said)
            elif any(cells):
                yield [*cells, *[""] * (n - len(cells))][:n]

    def _read(self, lines: Iterable[str], mark: str) -> Iterator[list[str]]:
        reader, before = csv.reader(lines, delimiter=mark, strict=True), self.last_line
        try:
            for cells in reader:
                self.first_line, self.last_line = self.last_line + 1, before + reader.line_num
                yield cells
        except csv.Error as error:
            # A quotation mark that is not closed is found out at the end of the file
            said = f"cannot be read as CSV from here on ({error}): is a quotation mark not doubled or not closed?"
            self._refuse(self.last_line + 1, said)


def _mark(header: str, known: Collection[str]) -> str:
    """The separator that gives the most known columns, or else the most columns."""
    names = {*map(folded, known)}

    def gives(mark: str) -> tuple[int, int]:
        cells = next(csv.reader([header], delimiter=mark), [])
        return sum(folded(cell) in names for cell in cells), len(cells)

    return max(DELIMITERS, key=gives)


def shown(text: str) -> str:
    """The beginning of a text for a message.

    >>> shown("a\\tb")
    '“a\\\\tb”'
    """
    return f"“{printed(text[:_LONGEST_SHOWN], keep='')}{'…' if len(text) > _LONGEST_SHOWN else ''}”"


def folded(name: str) -> str:
    """A column's name as it is compared.

    >>> folded("Journal Section"), folded("journal_section")
    ('journalsection', 'journalsection')
    """
    return re.sub(r"[\s_-]+", "", name.casefold())


def same_name(columns: Collection[str]) -> str:
    """A sentence on columns whose names are compared as equal, of which only one would be read; empty where there are none.

    >>> same_name(["key", "Text 1", "text_1"])
    'several columns have the same name: “Text 1”, “text_1”'
    """
    many = Counter(map(folded, columns))
    alike = dict.fromkeys(name for name in columns if many[folded(name)] > 1)
    return f"several columns have the same name: {listed(alike)}" if alike else ""


def listed(columns: Collection[str], most: int = 50) -> str:
    """Names of columns for a message, however many there are.

    >>> listed(["a", "b", "c"], most=2)
    '“a”, “b” and 1 more'
    """
    more = f" and {len(columns) - most:,} more" if len(columns) > most else ""
    return ", ".join(map(shown, islice(columns, most))) + more


def under(column: str, values: Mapping[str, Any]) -> Any:
    """A row's value under a column, however its name is written; None where there is none.

    >>> under("text", {"Text": "a"}), under("text", {"Text": "a", "text": "b"})
    ('a', 'b')
    """
    same = (value for name, value in values.items() if folded(name) == folded(column))
    return values[column] if column in values else next(same, None)


def named(
    columns: Iterable[str],
    names: Mapping[str, str],
    chosen: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """The columns of a file that are read, and as what: as `chosen`, or else by the first of the `names` that it has.

    names: what a column may be called, and our name. chosen: our name, and the file's column.

    Raises:
        KeyError: the file has no column that was chosen.

    >>> named(["Key", "Text", "Body"], {"key": "key", "text": "markup"}, {"note": "body"})
    {'Body': 'note', 'Key': 'key', 'Text': 'markup'}
    """
    there = {folded(column): column for column in columns}
    found = {there[folded(column)]: name for name, column in chosen.items()}
    for called, name in names.items():
        column = there.get(folded(called))
        if column is not None and column not in found and name not in found.values():
            found[column] = name
    return found
