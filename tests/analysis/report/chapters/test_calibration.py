"""Calibration: the published fits row by row, and what the page may say of them."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.codec import present
from analysis.report.chapters.confidence.results import Calibration, build_calibration
from analysis.report.contents import chapter_named
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import page_of, results_of

CHAPTER = chapter_named("calibration")


def calibration(data):
    return results_of(data, CHAPTER).of(Calibration).calibration


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


def test_the_page_says_that_accuracy_rose_only_if_it_did_between_participants(small):
    """An interval that takes judgements as independent does not decide it."""
    source = results_of(small, CHAPTER)
    found = source.of(Calibration).calibration
    fit = replace(
        found.humans.logistic, slope_ci95=(0.01, 0.03), clustered_slope_ci95=(-0.01, 0.05)
    )
    changed = Calibration(replace(found, humans=replace(found.humans, logistic=fit)))
    page, text = page_of(CHAPTER, replace(source, results={Calibration: changed}))
    assert "no clear slope" in text
    assert "clustered by participant −0.01 to 0.05" in text  # noqa: RUF001
    assert page.tables[0].rows[0][-2] == "−0.01 to 0.05"  # noqa: RUF001
    assert f"{found.humans.ece.when_calibrated:.3f}" in page.tables[1].rows[0]


def test_a_model_that_scored_one_item_does_not_hide_the_others(small):
    full = small.full[(small.full["model"] != 0) | (small.full["item"] < 1)]
    found = calibration(replace(small, full=full))
    assert [present(m.binned) is not None for m in found.models] == [False, True, True]


def test_a_known_slope_lies_in_its_interval():
    data = make_data(
        n_participants=3000, sd_participants=0.0, sd_items=0.0, intercept=0.6, confidence_slope=1.0
    )
    low, high = calibration(data).humans.logistic.slope_ci95
    assert low < 1 / 28.87 < high


def test_every_judgment_is_in_one_bin_of_the_tidy_table(small):
    bins = build_calibration(small).tables["calibration_bins"]
    assert set(bins["who"]) == {"human", "model"}
    assert bins.groupby("name")["n"].sum().loc["human"] == len(small.trials)
    assert np.all(bins["score_low"] <= bins["score_high"])


def test_the_published_models_slopes_are_one_family(published):
    source = results_of(published, CHAPTER)
    found = source.of(Calibration).calibration
    slopes = [model.logistic.p for model in found.models]
    assert found.models_tests.n_tests == 15
    assert 1 < found.models_tests.n_effective < 15
    corrected = [model.holm_p for model in found.models]
    assert min(corrected) == pytest.approx(15 * min(slopes))
    assert all(after >= before for after, before in zip(corrected, slopes, strict=True))
    clear = sum(p < 0.05 for p in corrected)
    assert found.models_tests.n_clear == clear
    assert f"after Holm's correction, {clear} of 15" in page_of(CHAPTER, source)[1]
