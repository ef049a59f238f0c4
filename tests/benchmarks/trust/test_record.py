"""What is kept of a run, and the page that is written from it."""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from benchmarks.trust.check import Check, Database, Part
from benchmarks.trust.outcome import Figure, Outcome
from benchmarks.trust.record import Row, Stamp, keep, merged, page, read, write

STAMP = Stamp("2026-11-23", "abc", "2 cores", 1)
FIRST = Check("first", "First", Part.REQUESTS, lambda world, scale: Outcome(1))
GROWN = Check("grown", "Grown", Part.GROWTH, lambda world, scale: Outcome(1))
CHECKS = (FIRST, GROWN)
GOOD = Outcome(3, acknowledged=1_234, stored=1_234, unavailable=7, recovery_s=1.25)
ROW = Row("first", Database.SQLITE, STAMP, 2.5, GOOD)
COST = Row(
    "grown",
    Database.POSTGRESQL,
    STAMP,
    9.0,
    Outcome(
        100, figures=(Figure("100", 4.0, "ms", of="draw"), Figure("ratio", 1.5, "", 2, "draw"))
    ),
)


def test_what_is_kept_is_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "trust.json"
    assert read(path) == []
    write(path, [ROW, COST], CHECKS)
    assert read(path) == [ROW, COST]
    assert path.with_suffix(".md").read_text() == page([ROW, COST], CHECKS)


def test_new_rows_take_the_place_of_old_ones_and_those_of_checks_that_are_gone_go() -> None:
    newer = replace(ROW, seconds=9.9)
    gone = replace(ROW, check="gone")
    assert merged([COST, ROW, gone], [newer], CHECKS) == [newer, COST]


def test_rows_of_processes_that_keep_theirs_at_once_are_all_there(tmp_path: Path) -> None:
    path = tmp_path / "trust.json"
    checks = [replace(FIRST, name=f"check{n}") for n in range(40)]
    rows = [replace(ROW, check=check.name) for check in checks]
    with ProcessPoolExecutor(4, mp_context=get_context("fork")) as processes:
        waiting = [processes.submit(_keep, path, row, len(checks)) for row in rows]
        for future in waiting:
            future.result()
    assert read(path) == rows


def _keep(path: Path, row: Row, n: int) -> None:
    """In a process of its own; checks themselves do not travel."""
    keep(path, row, [replace(FIRST, name=f"check{k}") for k in range(n)])


def test_the_page_counts_what_was_lost_and_names_what_is_red() -> None:
    text = page([ROW, COST], CHECKS)
    assert "1234 answers acknowledged, and 0 texts scored: 0 lost" in text
    assert "Red:" not in text
    bad = replace(ROW, outcome=replace(GOOD, lost=2, problems=("2 are gone",)))
    text = page([bad, COST], CHECKS)
    assert "2 lost" in text
    assert "first (SQLite)" in text
    assert "2 are gone" in text


def test_texts_that_jobs_score_are_not_counted_among_answers() -> None:
    jobs = replace(FIRST, name="jobs", scores=True)
    rows = [ROW, replace(ROW, check="jobs", outcome=Outcome(4, acknowledged=40, stored=40))]
    assert "1234 answers acknowledged, and 40 texts scored: 0 lost" in page(rows, (FIRST, jobs))


def test_the_page_names_what_is_not_measured_on_each_database() -> None:
    assert "Not measured in full yet: first (PostgreSQL), grown (SQLite)." in page(
        [ROW, COST], CHECKS
    )
    rows = [replace(row, database=database) for row in (ROW, COST) for database in Database]
    assert "Not measured" not in page(rows, CHECKS)


@pytest.mark.parametrize(
    "change",
    [
        {"lost": 1},
        {"doubled": 1},
        {"errors": 1},
        {"problems": ("a counter drifted",)},
        {"recovery_s": 31.0},
        {"figures": (Figure("growth", 0.2, "", 0.1),)},
    ],
)
def test_an_outcome_with_any_of_these_is_red(change: dict[str, object]) -> None:
    assert GOOD.is_green
    assert not replace(GOOD, **change).is_green  # type: ignore[arg-type]
