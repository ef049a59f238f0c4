"""Rows of a file as records: what test cases and questions have in common."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import wraps
from typing import Any, ClassVar, Generic, ParamSpec, TypeVar

from experiment.domain.item_checks.characters import check_characters, visible
from experiment.domain.item_columns import KINDS, LONGEST, SOURCES
from experiment.imports.read.rows import ChooseSheetError, FileRefusedError, RowProblem, TextRow
from lib import names
from lib.tables import folded, listed, named, shown

_DOI = re.compile(
    r"(?:(?:https?://)?(?:dx\.)?doi\.org/|doi:\s*)?(10\.[0-9]{4,9}(?:\.[0-9]+)*/\S+)", re.I
)
_KEY = re.compile(r"[^\s#]*")
# Data frames and spreadsheets may add the time at which a day begins
_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]00:00(?::00(?:\.0+)?)?(?:Z|\+00:00)?)?")
_WORD = re.compile(r"[^\W_]+")
_CONTEXT = 20
MOST_PROBLEMS = 1_000
LONGEST_OFFERED = 200  # characters of a column's name


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A row. `given`: the columns that it has, in our names; what it does not have is as for a new item.

    version: that the row was taken from, 0 where it does not say. read_as: what was read otherwise than it is written, in words.
    """

    # What a row may say of an item besides its text
    DETAILS: ClassVar[tuple[str, ...]] = ("source", "generator", "subfield", "doi", "note")

    row: int
    line: int | None
    given: frozenset[str]
    markup: str
    sheet: str = ""
    key: str = ""
    version: int = 0
    source: str = "human"
    generator: str = ""
    subfield: str = ""
    doi: str = ""
    note: str = ""
    read_as: tuple[str, ...] = ()

    @property
    def identity(self) -> tuple[str, ...]:
        """The values that no other row of the file may have; the last names it, where it may be named."""
        raise NotImplementedError

    def problem(self, message: str, column: str | None = None) -> RowProblem:
        return RowProblem(message, self.row, self.line, column, self.sheet)


P = ParamSpec("P")
R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class RecordsFile(Generic[R]):
    """The content of a file. `ignored` columns are not read; nothing is to be stored while there are problems.

    unnamed: where no column bears the name of one that has to be there. sheets: of which one has to be chosen. unit: what
    people call a row of it.
    """

    records: Sequence[R] = ()
    ignored: Sequence[str] = ()
    problems: list[RowProblem] = field(default_factory=list)
    unnamed: "Unnamed | None" = None
    sheets: Sequence[str] = ()
    unit: str = "row"

    @classmethod
    def of(
        cls,
        records: Sequence[R],
        ignored: Iterable[str],
        problems: list[RowProblem],
        unit: str = "row",
    ) -> "RecordsFile[R]":
        """With a problem for each item that stands in the file twice."""
        seen: dict[tuple[str, ...], R] = {}
        for record in records:
            first = seen.setdefault(record.identity, record)
            if first is not record:
                column, *_, text = record.identity
                what = shown(text) if text else "the same text"
                problems.append(record.problem(f"{what} is already in {unit} {first.row}", column))
        problems.sort(key=lambda problem: problem.row or 0)
        return cls(records, [visible(name) for name in ignored], shortened(problems), unit=unit)


def shortened(problems: list[RowProblem]) -> list[RowProblem]:
    """As many as anybody reads, and how many more there are."""
    more = len(problems) - MOST_PROBLEMS
    said = [RowProblem(f"… and {more:,} more problems")] if more > 0 else []
    return [*problems[:MOST_PROBLEMS], *said]


def as_problems(read: Callable[P, RecordsFile[R]]) -> Callable[P, RecordsFile[R]]:
    """A reader that gives one problem, of no row, where a file is no such file."""

    @wraps(read)
    def reader(*args: P.args, **named: P.kwargs) -> RecordsFile[R]:
        try:
            return read(*args, **named)
        except ColumnsError as error:
            return RecordsFile(problems=[RowProblem(str(error))], unnamed=error.unnamed)
        except ChooseSheetError as error:
            return RecordsFile(problems=[RowProblem(str(error))], sheets=error.sheets)
        except FileRefusedError as error:
            return RecordsFile(problems=[RowProblem(str(error))])

    return reader


@dataclass(frozen=True, slots=True)
class Unnamed:
    """columns: of the file. guess: for each of our columns that may have to be named, the one that looks like it, or ""."""

    columns: Sequence[str]
    guess: Mapping[str, str]

    @classmethod
    def of(cls, columns: Sequence[str], words: Mapping[str, str]) -> "Unnamed":
        """words: of our columns, such as are in the names of theirs; who is named first takes a column before the others.

        >>> Unnamed.of(["title", "abstract"], {"altered": "changed", "original": "abstract"}).guess
        {'altered': '', 'original': 'abstract'}
        """
        guess: dict[str, str] = {}
        there = [column for column in columns if not names.fault(column, LONGEST_OFFERED)]
        for name, likely in words.items():
            some = {*likely.split()}
            fitting = (column for column in there if some & {*_WORD.findall(column.casefold())})
            guess[name] = next((c for c in fitting if c not in guess.values()), "")
        return cls(there, guess)


class ColumnsError(FileRefusedError):
    """The file's columns are not the ones that have to be there; `unnamed` helps to say which they are."""

    def __init__(self, message: str, columns: Sequence[str], words: Mapping[str, str]) -> None:
        self.unnamed = Unnamed.of(columns, words)
        there = listed(columns) or "none"
        super().__init__(f"{message} (columns: {there}).")


def names_of(
    columns: Sequence[str],
    known: Mapping[str, str],
    chosen: Mapping[str, str],
    words: Mapping[str, str],
) -> dict[str, str]:
    """As `lib.tables.named`; words: as of `Unnamed`.

    Raises:
        FileRefusedError: what was chosen is no column of ours, none of the file's, or one of these twice.
    """
    ours, there = {*known.values()}, {*map(folded, columns)}
    if others := [name for name in chosen if name not in ours]:
        listed = ", ".join(sorted(ours))
        raise FileRefusedError(f"{shown(others[0])} is not one of our columns ({listed}).")
    theirs = Counter(map(folded, chosen.values()))
    for name, column in chosen.items():
        if folded(column) not in there:
            raise ColumnsError(f"The file has no column {shown(column)} for {name}", columns, words)
        if theirs[folded(column)] > 1:
            message = f"The column {shown(column)} is chosen for two of our columns"
            raise ColumnsError(message, columns, words)
    return named(columns, known, chosen)


class Cells:
    """Reads a row by our names of the columns; `problems` are what was wrong. A cell that is not there is empty."""

    def __init__(
        self, row: TextRow, columns: Mapping[str, str], longest: Mapping[str, int] = LONGEST
    ) -> None:
        self.row, self.longest = row, longest
        self.columns = {name: column for column, name in columns.items()}
        self.problems: list[RowProblem] = []

    def fail(self, name: str, message: str) -> None:
        self.problems.append(self.row.problem(message, self.columns.get(name, name)))

    def cell(self, name: str) -> str:
        """As it stands."""
        # A column of the file may be called "", as none of ours is
        column = self.columns.get(name)
        return "" if column is None else self.row.cells.get(column, "")

    def text(self, name: str, *, strip: bool = True) -> str:
        """The cell, without white space at its ends; empty where it is too long or holds what no reader sees."""
        text = self.cell(name)
        text = text.strip() if strip else text
        if len(text) > self.longest[name]:
            longest = f"at most {self.longest[name]:,} are allowed"
            self.fail(name, f"has {len(text):,} characters, {longest}: {shown(text)}")
            return ""
        for finding in check_characters(text):
            assert finding.place is not None
            before = text[max(0, finding.place.start - _CONTEXT) : finding.place.start]
            self.fail(name, f"contains {finding.message} of the text, after {shown(before)}")
            return ""
        return text

    def name(self, name: str) -> str:
        """The cell, where it is one line that can be printed."""
        text = self.text(name)
        if found := names.fault(text):
            self.fail(name, f"{shown(text)} contains {found.point}, but must be a single line")
            return ""
        return text

    def key(self) -> str:
        key = self.name("key")
        if not _KEY.fullmatch(key):
            self.fail("key", f"{shown(key)} contains white space or a #")
        return key

    def version(self) -> int:
        text = self.cell("version").strip()
        if found := re.fullmatch(r"([1-9][0-9]{0,5})(?:\.0)?", text):
            return int(found[1])
        if text:
            self.fail("version", f"{shown(text)} is not a version number")
        return 0

    def kind(self) -> str:
        return self._one_of("kind", KINDS) or KINDS[0]

    def source(self, default: str) -> str:
        return self._one_of("source", SOURCES) or default

    def given(self) -> frozenset[str]:
        return frozenset(name for name, column in self.columns.items() if column in self.row.cells)

    def common(self, default_source: str = "human", default_generator: str = "") -> dict[str, Any]:
        """The part that every record has, besides its text."""
        return {
            "row": self.row.row,
            "line": self.row.line,
            "sheet": self.row.sheet,
            "given": self.given(),
            "key": self.key(),
            "version": self.version(),
            "source": self.source(default_source),
            "generator": self.name("generator") or default_generator,
            "subfield": self.name("subfield"),
            "doi": self.doi(),
            "note": self.text("note", strip=False),
        }

    def _one_of(self, name: str, known: tuple[str, ...]) -> str:
        text = self.text(name).casefold()
        if text and text not in known:
            self.fail(name, f"{shown(text)} is not one of {', '.join(known)}")
            return ""
        return text

    def doi(self) -> str:
        """Without the resolver's address."""
        text = self.name("doi")
        match = _DOI.fullmatch(text)
        if text and not match:
            self.fail("doi", f"{shown(text)} is not a DOI, 10.…/…")
        return match[1] if match else ""

    def date(self) -> date | None:
        # Before its length is looked at, for a time makes it longer
        try:
            if found := _DAY.fullmatch(self.cell("publication_date").strip()):
                return date.fromisoformat(found[1])
        except ValueError:
            pass
        if text := self.text("publication_date"):
            self.fail("publication_date", f"{shown(text)} is not a date like YYYY-MM-DD")
        return None
