"""Calibration: the published fits row by row, and what the page may say of them."""

import pytest

from analysis.report.chapters.confidence.results import Calibration, Expertise
from analysis.report.contents import chapter_named
from analysis.stats.trial_slope import Direction
from tests.analysis.report.chapters.chapter_results import page_of, results_of

CALIBRATION = chapter_named("calibration")
EXPERTISE = chapter_named("expertise")


def calibration(data):
    return results_of(data, CALIBRATION).of(Calibration).calibration


def test_calibration_is_as_published_and_named_row_by_row(published, reference):
    found = calibration(published)
    untouched = found.humans.without_untouched
    assert (untouched.n_untouched, round(untouched.line.r, 3)) == (57, 0.823)
    known = reference["calibration"]["human"]["regression_on_rank_midpoint"]
    assert found.humans.binned.line.slope == pytest.approx(known["slope"], rel=1e-9)
    assert [row.name for row in found.table_s3] == [*reference["logistic_fits"]]
    for row in found.table_s3:
        known = reference["logistic_fits"][row.name]
        for name in ("coef_mean", "coef_sem", "intercept_mean", "t"):
            assert getattr(row.fit, name) == pytest.approx(known[name], abs=0.01)
    for model in found.models:
        full = reference["logistic_full_sample"][model.name]
        line = reference["calibration"]["llm"][model.name]["regression_on_rank_midpoint"]
        assert model.binned.line.slope == pytest.approx(line["slope"], rel=1e-9)
        assert model.logistic.slope == pytest.approx(full["mle_coef"], rel=1e-9)
        low, high = model.ece.ci95
        assert 0 <= low <= model.ece.value <= high
        assert model.ece.value < 0.2


def test_the_published_models_slopes_are_one_family(published):
    source = results_of(published, CALIBRATION)
    found = source.of(Calibration).calibration
    slopes = [model.logistic.p for model in found.models]
    assert found.models_tests.n_tests == 15
    assert 1 < found.models_tests.n_effective < 15
    corrected = [model.holm_p for model in found.models]
    assert min(corrected) == pytest.approx(15 * min(slopes))
    assert all(after >= before for after, before in zip(corrected, slopes, strict=True))
    clear = sum(p < 0.05 for p in corrected)
    assert found.models_tests.n_clear == clear
    assert f"after Holm's correction, {clear} of 15" in page_of(CALIBRATION, source)[1]


# --- Self-rated expertise: the published distribution and its calibration.


@pytest.fixture(scope="module")
def ours(published):
    return results_of(published, EXPERTISE).of(Expertise).expertise


def test_the_published_ratings_have_the_published_distribution(ours, reference):
    rows = {own.subfield: own.ratings for own in ours.distributions}
    assert list(rows)[-1] == "All"
    for subfield, known in reference["expertise_distribution"].items():
        found = rows[subfield]
        assert (found.n, found.n_unique) == (known["n"], known["n_unique"])
        assert (found.mean, found.sd) == pytest.approx((known["mean"], known["sd"]), rel=1e-9)
        quartiles = [getattr(found, key) for key in ("min", "q1", "median", "q3", "max")]
        assert quartiles == pytest.approx(known["quartiles"], rel=1e-9)


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
    text = page_of(EXPERTISE, results_of(published, EXPERTISE))[1]
    assert "accuracy rises with expertise" in text
    assert "of 5 are clear" in text
