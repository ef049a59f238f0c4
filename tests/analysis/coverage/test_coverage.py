"""Intervals hold the truth as often as they say; docs/results.md shows how often, as measured."""

import pytest

from tests.analysis.coverage.intervals import SIZES, measure
from tests.analysis.coverage.table import DOCS, N_STUDIES, lines, measured

SMALL, MIDDLE, _PUBLISHED = SIZES


def test_the_table_of_the_documentation_is_the_measured_one():
    assert lines(measured()) in DOCS.read_text()


def test_intervals_hold_the_truth_about_as_often_in_a_few_studies():
    found = {row.interval: row for row in measure(MIDDLE, 30)}
    for name in ("human accuracy: crossed bootstrap", "human accuracy: two-way", "team: accuracy"):
        assert found[name].holds >= 0.8, name  # one of 30 so seldom in one of 10,000 simulations
    assert found["human accuracy: unscaled bootstrap, not used in the report"].holds >= 0.9


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
