"""docs/trust.json keeps what was found, each row with its day, commit and machine; docs/trust.md is written from it."""

import fcntl
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from django.template.loader import render_to_string
from django.utils import timezone
from pydantic import TypeAdapter

from benchmarks.machine import machine
from benchmarks.trust.outcome import Database, Fault, Outcome
from benchmarks.trust.world import Result
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
    """One fault on one database, as it is kept."""

    check: str
    database: Database
    stamp: Stamp
    seconds: float
    outcome: Outcome


ROW, ROWS = TypeAdapter(Row), TypeAdapter(list[Row])


def as_row(result: Result, stamp: Stamp) -> Row:
    """The row that is kept of a result: of its figures, those that have a limit."""
    figures = (
        replace(figure, value=float(f"{figure.value:.4g}"))
        for figure in result.outcome.figures
        if figure.limit is not None
    )
    outcome = replace(result.outcome, figures=tuple(figures))
    return Row(result.fault.name, result.database, stamp, round(result.seconds, 1), outcome)


def read(path: Path) -> list[Row]:
    """The rows kept so far; none where there is no file."""
    return ROWS.validate_json(path.read_bytes()) if path.exists() else []


def keep(path: Path, row: Row, faults: Sequence[Fault]) -> None:
    """Put one more row with those at `path`, where another process may be doing the same, and the page beside it.

    It takes the place of an older one of the same fault and database; rows of faults that are gone go.
    """
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        rows = {(kept.check, kept.database): kept for kept in (*read(path), row)}
        wanted = [(fault.name, database) for fault in faults for database in fault.databases]
        write(path, [rows[key] for key in wanted if key in rows], faults)
    finally:
        os.close(folder)


def write(path: Path, rows: Sequence[Row], faults: Sequence[Fault]) -> None:
    """One line a row, without what is zero or missing: a change of the file shows which rows were measured."""
    lines = [ROW.dump_json(row, exclude_defaults=True) for row in rows]
    path.write_bytes(b"[\n" + b",\n".join(lines) + b"\n]\n")
    path.with_suffix(".md").write_text(page(rows, faults))


def page(rows: Sequence[Row], faults: Sequence[Fault]) -> str:
    """docs/trust.md: a row a fault, a column a database; every number of it comes from the rows."""
    found = {(row.check, row.database): row.outcome for row in rows}
    outcomes = found.values()
    scores = {fault.name for fault in faults if fault.scores}
    context = {
        "lines": [
            (fault, [_cell(fault, database, found) for database in Database]) for fault in faults
        ],
        "answers": f"{sum(row.outcome.acknowledged for row in rows if row.check not in scores):,}",
        "texts": sum(row.outcome.acknowledged for row in rows if row.check in scores),
        "lost": sum(outcome.lost for outcome in outcomes),
        "doubled": sum(outcome.doubled for outcome in outcomes),
        "errors": sum(outcome.errors for outcome in outcomes),
        "days": sorted({row.stamp.day for row in rows}),
        "machines": sorted({row.stamp.machine for row in rows}),
    }
    return render_to_string("benchmarks/trust.md", context)


def _cell(fault: Fault, database: Database, found: dict[tuple[str, Database], Outcome]) -> str:
    if database not in fault.databases:
        return ""
    outcome = found.get((fault.name, database))
    if outcome is None:
        return "not measured"
    parts = [f"{outcome.cases:,}"]
    if outcome.acknowledged:
        parts.append(f"{outcome.acknowledged - outcome.lost:,} stored")
    if outcome.recovery_s is not None:
        parts.append(f"recovery {outcome.recovery_s:.1f} s")
    figures = [f for f in outcome.figures if f.limit is not None and f.of == ""]
    parts += [f"{f.name} {f.value:,.3g} {f.unit}".rstrip() for f in figures[:1]]
    return ("" if outcome.is_green else "**red** ") + "; ".join(parts)
