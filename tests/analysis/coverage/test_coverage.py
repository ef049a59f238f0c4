"""Intervals hold the truth as often as they say; docs/results.md shows how often, as measured."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.analysis.coverage.intervals import SIZES, Coverage, measure
from tests.analysis.coverage.table import DOCS, MEASURED, N_STUDIES, lines, measured

SMALL, MIDDLE, _PUBLISHED = SIZES


def test_the_table_of_the_documentation_is_the_measured_one():
    assert lines(measured()) in DOCS.read_text()


def test_what_lies_outside_the_target_is_named_and_nothing_else():
    """At the two larger sizes; a simulation of this many studies errs by up to .03."""
    outside = {
        (row.interval, row.size)
        for row in measured()
        if row.size != SMALL.name
        and not 0.92 <= row.holds <= 0.985
        and "comparison" not in row.interval
    }
    text = DOCS.read_text()
    assert all(interval in text for interval, _size in outside)


def test_intervals_hold_the_truth_about_as_often_in_a_few_studies():
    found = {row.interval: row for row in measure(MIDDLE, 30)}
    for name in ("human accuracy: crossed bootstrap", "human accuracy: two-way", "team: accuracy"):
        assert found[name].holds >= 0.8, name  # one of 30 so seldom in one of 10,000 simulations
    assert found["human accuracy: pigeonhole bootstrap as it is, not shown"].holds >= 0.9


@pytest.mark.sweep
@pytest.mark.parametrize("size", SIZES, ids=lambda size: size.name)
def test_the_measured_coverage_comes_out_again(size):
    """Prints the table's rows; `python -m tests.analysis.coverage.table` writes them."""
    known = {row.interval: row for row in measured() if row.size == size.name}
    found = list(measure(size, N_STUDIES[size.name]))
    print(lines(tuple(found)))
    assert {row.interval for row in found} == set(known)
    for row in found:
        assert row.holds == pytest.approx(known[row.interval].holds, abs=0.01), row.interval


def test_the_measured_rows_are_shares_of_the_studies_that_were_simulated():
    rows = json.loads(Path(MEASURED).read_text())
    assert [asdict(Coverage(**row)) for row in rows] == rows
    for row in measured():
        assert row.n <= N_STUDIES[row.size]
        assert row.holds + row.below + row.above == pytest.approx(1, abs=2e-3)
