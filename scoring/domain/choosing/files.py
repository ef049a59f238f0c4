"""Files of choices that a model made elsewhere: all that one holds, each with its place, or what is wrong there. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import StringIO
from typing import Any

from lib.files import wrong_byte
from lib.json_bounds import MOST_VALUES, n_values
from scoring.domain.answer_tables import TableRow, is_table, table_rows
from scoring.domain.choosing.inspect_logs import is_greedy, read_inspect, read_log
from scoring.domain.choosing.lines import COLUMNS, ReadChoice, read_line, read_object
from scoring.domain.generating import storable_json

LOGS = (
    ".eval",
    ".json",
)  # of Inspect; any other file that is no table holds a line for each answer
MOST_ENTRIES = 200_000
LONGEST_FAULT = 500  # characters


@dataclass(frozen=True, slots=True)
class Entry:
    """A place in the file, and the choice there or what is wrong with it, in words that go on after the place."""

    place: str
    read: ReadChoice | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class ChoicesFile:
    """about: what a log says of itself."""

    about: Mapping[str, Any]
    entries: Sequence[Entry]


def read_choices(content: bytes, name: str, sheet: str = "") -> ChoicesFile:
    """name: of the file, which says of which kind it is. sheet: of a spreadsheet; empty for the one with the known columns.

    Raises:
        ValueError: the file as a whole cannot be read; in words that go on after its name.
    """
    about: Mapping[str, Any] = {}
    places: Iterator[tuple[str, Callable[[], ReadChoice]]]
    if name.lower().endswith(LOGS):
        about, samples = read_log(content)
        of_log = partial(read_inspect, is_greedy=is_greedy(about))
        places = ((place, partial(of_log, sample)) for place, sample in samples)
        about = storable_json(dict(about))
    elif is_table(name):
        rows = table_rows(content, COLUMNS, ("item", "order"), sheet)
        places = ((row.place, partial(_of_row, row)) for row in rows)
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(wrong_byte(error)) from error
        lines = enumerate(StringIO(text, newline="\n"), start=1)
        places = ((f"line {n}", partial(read_line, line)) for n, line in lines if line.strip())
    entries: list[Entry] = []
    left = MOST_VALUES - n_values(about)
    for place, read in places:
        try:
            entry = Entry(place, read())
        except ValueError as error:
            entry = Entry(place, fault=str(error)[:LONGEST_FAULT])
        left -= n_values(entry.read.raw) if entry.read else 0
        if len(entries) == MOST_ENTRIES or left < 0:
            raise ValueError(
                f"it contains more than {MOST_ENTRIES:,} answers, or more than {MOST_VALUES:,} values of other kinds; split it"
            )
        entries.append(entry)
    return ChoicesFile(about, entries)


def _of_row(row: TableRow) -> ReadChoice:
    if row.fault:
        raise ValueError(row.fault)
    return read_object(row.values)
