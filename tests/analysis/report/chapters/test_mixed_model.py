"""The chapter on the mixed model: crossed random intercepts, and the effect of confidence."""

from dataclasses import replace

import pytest
from threadpoolctl import threadpool_limits

from analysis.report.chapter import SourceResults
from analysis.report.chapters.mixed_model.results import (
    Mixed,
    Power,
    two_digits,
)
from analysis.report.chapters.uncertainty.results import Crossed
from analysis.report.contents import chapter_named
from analysis.stats.verdicts import Verdict
from lib.levels import LEVEL
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import page_of, results_of

CROSSED = chapter_named("crossed")
MIXED_MODEL = chapter_named("mixed_model")
POWER = chapter_named("power")


@pytest.fixture(autouse=True)
def one_thread():
    """As the report does: for matrices this small a second thread only waits."""
    with threadpool_limits(1):
        yield


def test_the_published_trials_vary_between_items_and_hardly_between_people(published):
    found = results_of(published, MIXED_MODEL).of(Mixed).mixed_model
    assert (found.n_trials, found.n_participants, found.n_items) == (1011, 171, 200)
    assert found.accuracy_marginal == pytest.approx(641 / 1011, abs=0.002)
    # Not 0, as Laplace has it: tests/analysis/stats/test_mixed_model_quadrature.py
    assert found.sd_participants == pytest.approx(0.162, abs=0.002)
    assert found.lrt.participants.p > 0.3
    assert found.sd_items == pytest.approx(0.722, abs=0.001)
    assert found.lrt.participants.without.sd_other == pytest.approx(0.719, abs=0.0005)
    assert found.sd_items_ci95[0] > 0.3
    share = found.items_share
    assert share.value == pytest.approx(0.722**2 / (0.722**2 + 0.162**2), abs=0.005)
    assert 0.5 < share.ci95[0] < share.value < share.ci95[1] == 1
    assert share.verdict is Verdict.ABOVE
    slope = found.confidence.slope
    assert 0 < slope.ci95[0] < slope.estimate < slope.ci95[1]
    assert found.lrt.items.p < 0.001


@pytest.mark.parametrize(
    ("study", "verdict", "said"),
    [
        # The estimates alone say that test cases vary more in the first
        ({"sd_participants": 0.6, "sd_items": 0.7, "seed": 1}, Verdict.UNCLEAR, "not clearly different"),
        ({"sd_participants": 0.1, "sd_items": 1.5, "seed": 1}, Verdict.ABOVE, "Test cases vary more than participants"),
        ({"sd_participants": 1.8, "sd_items": 0.1, "seed": 1}, Verdict.BELOW, "Test cases vary less than participants"),
        ({"n_items": 7, "trials_each": 7, "sd_items": 2.0, "seed": 1}, Verdict.TOO_FEW, "too few of them to say which vary more"),
    ],
)  # fmt: skip
def test_what_varies_more_is_said_by_an_interval(study, verdict, said):
    data = make_data(**{"n_participants": 40, "n_items": 30, "trials_each": 10} | study)
    results = results_of(data, MIXED_MODEL)
    found = results.of(Mixed).mixed_model
    assert found.sd_items != found.sd_participants
    assert found.items_share.verdict is verdict
    assert said in page_of(MIXED_MODEL, results)[1]


# --- The chapter on power: how many participants for an interval of a wanted width.


def test_the_published_study_is_as_wide_as_a_simulated_one_of_its_size(published):
    found = results_of(published, POWER).of(Power).power
    row = next(r for r in found.curve if r.n_participants == 171)
    humans = results_of(replace(published, resamples=2), CROSSED).of(Crossed).crossed.humans
    low, high = humans.errors.two_way_ci95
    assert row.ci_width == pytest.approx(high - low, rel=0.1)
    widths = [r.ci_width for r in found.curve]
    assert widths == sorted(widths, reverse=True)
    needed = [t.n_participants for t in found.targets if t.n_participants]
    assert needed == sorted(needed)
    assert found.trials_per_participant == pytest.approx(1011 / 171)


@pytest.mark.parametrize(("statistic", "p"), [(3.2, 0.037), (2.6, 0.053)])
def test_the_model_without_participants_is_shown_where_the_test_does_not_reject_it(
    small, statistic, p
):
    source = results_of(small, MIXED_MODEL)
    found = source.of(Mixed).mixed_model
    test = replace(found.lrt.participants, statistic=statistic, p=p)
    shown = replace(
        found,
        lrt=replace(found.lrt, participants=test),
        sd_participants=0.4,
        sd_participants_ci95=(0.0, 1.3),
    )
    words = page_of(MIXED_MODEL, SourceResults("human", {Mixed: Mixed(shown)}))[1]
    assert ("test against no variation" in words) == (p >= LEVEL)


def test_a_number_needed_is_rounded_to_one_that_is_enough(published):
    found = results_of(published, POWER)
    for target in found.of(Power).power.targets:
        for n in (target.n_participants, target.n_items_needed):
            assert n is None or n <= two_digits(n) < 1.1 * n
    assert two_digits(114) == 120
