"""docs/trust.json keeps what was found, each row with its day, commit and machine; docs/trust.md is written from it."""

import fcntl
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from django.template.loader import render_to_string
from django.utils import timezone

from benchmarks.machine import machine
from benchmarks.trust.check import Check, Database, Part
from benchmarks.trust.outcome import Figure, Outcome
from benchmarks.trust.running import Result
from lib.code import code_version


@dataclass(frozen=True, slots=True)
class Stamp:
    """When, by which code and on what a row was measured."""

    day: str
    commit: str
    machine: str
    seed: int

    @classmethod
    def now(cls, seed: int) -> "Stamp":
        return cls(timezone.now().date().isoformat(), code_version(), machine(), seed)


@dataclass(frozen=True, slots=True)
class Row:
    """One check on one database, as it is kept."""

    check: str
    database: Database
    stamp: Stamp
    seconds: float
    outcome: Outcome


def as_row(result: Result, stamp: Stamp) -> Row:
    outcome = replace(result.outcome, figures=tuple(map(_rounded, result.outcome.figures)))
    return Row(result.check.name, result.database, stamp, round(result.seconds, 1), outcome)


def _rounded(figure: Figure) -> Figure:
    return replace(figure, value=float(f"{figure.value:.4g}"))


def read(path: Path) -> list[Row]:
    """The rows kept so far; none where there is no file."""
    if not path.exists():
        return []
    return [_row(kept) for kept in json.loads(path.read_text())["rows"]]


def _row(kept: dict[str, Any]) -> Row:
    found = kept["outcome"]
    figures = tuple(Figure(**figure) for figure in found.pop("figures"))
    problems = tuple(found.pop("problems"))
    outcome = Outcome(**found, figures=figures, problems=problems)
    stamp = Stamp(**kept["stamp"])
    return Row(kept["check"], Database(kept["database"]), stamp, kept["seconds"], outcome)


def merged(kept: Iterable[Row], new: Iterable[Row], checks: Sequence[Check[Any]]) -> list[Row]:
    """New rows in the place of old ones of the same check and database; in the checks' order, without those that are gone."""
    rows = {(row.check, row.database): row for row in (*kept, *new)}
    wanted = [(check.name, database) for check in checks for database in check.databases]
    return [rows[key] for key in wanted if key in rows]


def keep(path: Path, row: Row, checks: Sequence[Check[Any]]) -> None:
    """Put one more row with those at `path`, where another process may be doing the same."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        write(path, merged(read(path), [row], checks), checks)
    finally:
        os.close(folder)


def write(path: Path, rows: Sequence[Row], checks: Sequence[Check[Any]]) -> None:
    """The rows at `path`, and the page beside it."""
    kept = {"rows": [asdict(row) for row in rows]}
    path.write_text(json.dumps(kept, indent=1) + "\n")
    path.with_suffix(".md").write_text(page(rows, checks))


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the page: a check, what it found on a database, and which stamp it has."""

    check: Check[Any]
    row: Row
    stamp: int


@dataclass(frozen=True, slots=True)
class Pivot:
    """Figures that are one row each: named columns, and cells."""

    check: Check[Any]
    database: Database
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Figure, ...]], ...]


def page(rows: Sequence[Row], checks: Sequence[Check[Any]]) -> str:
    """docs/trust.md: every number of it comes from the rows."""
    by_name = {check.name: check for check in checks}
    found = {(row.check, row.database) for row in rows}
    stamps = list(dict.fromkeys(row.stamp for row in rows))
    lines = [Line(by_name[row.check], row, 1 + stamps.index(row.stamp)) for row in rows]
    grown = [line for line in lines if line.check.part is Part.GROWTH]
    counted = [line for line in lines if line.check.part is not Part.GROWTH]
    parts = [(part, [line for line in counted if line.check.part is part]) for part in Part]
    outcomes = [line.row.outcome for line in counted]
    context = {
        "parts": [(part, found) for part, found in parts if found],
        "pivots": [_pivot(line) for line in grown],
        "stamps": stamps,
        "answers": _acknowledged(counted, scores=False),
        "texts": _acknowledged(counted, scores=True),
        "lost": sum(outcome.lost for outcome in outcomes),
        "doubled": sum(outcome.doubled for outcome in outcomes),
        "errors": sum(outcome.errors for outcome in outcomes),
        "missing": [
            (check, database)
            for check in checks
            for database in check.databases
            if (check.name, database) not in found
        ],
        "red": [line for line in lines if not line.row.outcome.is_green],
    }
    return render_to_string("benchmarks/trust.md", context)


def _acknowledged(lines: Sequence[Line], *, scores: bool) -> int:
    """Answers of people, or texts that jobs have scored."""
    return sum(line.row.outcome.acknowledged for line in lines if line.check.scores is scores)


def _pivot(line: Line) -> Pivot:
    figures = line.row.outcome.figures
    names = tuple(dict.fromkeys(figure.of for figure in figures))
    columns = tuple(dict.fromkeys(figure.name for figure in figures))
    rows = tuple((name, tuple(f for f in figures if f.of == name)) for name in names)
    return Pivot(line.check, line.row.database, columns, rows)
