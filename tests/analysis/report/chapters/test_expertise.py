"""Self-rated expertise: the published distribution and its calibration."""

import pytest

from analysis.report.chapters.confidence.results import Expertise
from analysis.report.contents import chapter_named
from analysis.stats.trial_slope import Direction
from tests.analysis.report.chapters.chapter_results import page_of, results_of

CHAPTER = chapter_named("expertise")


@pytest.fixture(scope="module")
def ours(published):
    return results_of(published, CHAPTER).of(Expertise).expertise


def test_the_published_ratings_have_the_published_distribution(ours, reference):
    rows = {own.subfield: own.ratings for own in ours.distributions}
    assert list(rows)[-1] == "All"
    for subfield, known in reference["expertise_distribution"].items():
        found = rows[subfield]
        assert (found.n, found.n_unique) == (known["n"], known["n_unique"])
        assert (found.mean, found.sd) == pytest.approx((known["mean"], known["sd"]), rel=1e-9)
        quartiles = [getattr(found, key) for key in ("min", "q1", "median", "q3", "max")]
        assert quartiles == pytest.approx(known["quartiles"], rel=1e-9)


def test_the_published_80th_percentiles_lie_in_their_intervals(ours, reference):
    known = reference["expertise_p80_by_subfield"]
    found = {own.subfield: own.p80 for own in ours.p80_by_subfield}
    assert found == pytest.approx(known, rel=1e-9)
    for own in ours.p80_by_subfield:
        assert own.ci95[0] <= own.p80 <= own.ci95[1]


def test_the_published_ratings_have_the_published_calibration(ours, reference):
    assert len(ours.calibration) == 6
    for own in ours.calibration:
        known = reference["expertise_calibration_4bins"][own.subfield]
        found = [one.accuracy for one in own.binned.bins]
        assert found == pytest.approx(known["bin_accuracy"], rel=1e-12)
        fit = known["regression_on_rank_midpoint"]
        for key in ("slope", "intercept", "r", "p"):
            assert getattr(own.binned.line, key) == pytest.approx(fit[key], rel=1e-9)


def test_accuracy_rises_with_expertise_over_the_published_trials(published, ours):
    assert ours.slope.direction is Direction.RISES
    assert ours.slope.slope.slope == pytest.approx(0.0100, abs=5e-5)
    assert ours.slope.slope.by_participant_p == pytest.approx(0.0002, abs=5e-6)
    together = ours.slopes_by_subfield
    assert together.tests.n_tests == len(together.subfields) == 5
    # Other trials of the same people: nearly independent
    assert together.tests.n_effective > 4
    assert all(own.holm_p >= own.slope.p for own in together.subfields)
    text = page_of(CHAPTER, results_of(published, CHAPTER))[1]
    assert "accuracy rises with expertise" in text
    assert "of 5 are clear" in text


def test_a_direction_that_is_not_clear_is_not_named(small):
    found = results_of(small, CHAPTER)
    assert found.of(Expertise).expertise.slope.direction is Direction.UNCLEAR
    assert "no clear direction over expertise" in page_of(CHAPTER, found)[1]
