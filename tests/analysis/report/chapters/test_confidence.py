"""Calibration: the published fits row by row, and what the page may say of them."""

from dataclasses import replace

import pytest

from analysis.codec import MissingResult, present
from analysis.report.chapter import SourceResults
from analysis.report.chapters.confidence.results import Calibration, Expertise
from analysis.report.contents import chapter_named
from analysis.stats.verdicts import Verdict
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import (
    ACCURACY,
    built_of,
    page_of,
    results_of,
)

CALIBRATION = chapter_named("calibration")
EXPERTISE = chapter_named("expertise")


def calibration(data):
    return results_of(data, CALIBRATION).of(Calibration).calibration


def test_the_published_fits_are_named_row_by_row(published, reference):
    found = calibration(published)
    untouched = found.humans.without_untouched
    assert (untouched.n_untouched, round(untouched.line.r, 3)) == (57, 0.823)
    assert [row.name for row in found.table_s3] == [*reference["logistic_fits"]]
    for row in found.table_s3:
        assert row.fit.t == pytest.approx(reference["logistic_fits"][row.name]["t"], abs=0.01)
    for model in found.models:
        assert 0 <= model.ece.ci95[0] <= model.ece.value <= model.ece.ci95[1]


def test_the_published_models_slopes_are_one_family(published):
    found = calibration(published)
    slopes = [model.logistic.p for model in found.models]
    assert found.models_tests.n_tests == 15
    assert 1 < found.models_tests.n_effective < 15
    corrected = [model.holm_p for model in found.models]
    assert min(corrected) == pytest.approx(15 * min(slopes))
    assert all(after >= before for after, before in zip(corrected, slopes, strict=True))
    assert found.models_tests.n_clear == sum(p < 0.05 for p in corrected)


# --- Self-rated expertise: the published distribution and its calibration.


@pytest.fixture(scope="module")
def ours(published):
    return results_of(published, EXPERTISE).of(Expertise).expertise


def test_accuracy_rises_with_expertise_over_the_published_trials(ours):
    assert ours.slope.direction is Verdict.ABOVE
    together = ours.slopes_by_subfield
    assert together.tests.n_tests == len(together.subfields) == 5
    # Other trials of the same people: nearly independent
    assert together.tests.n_effective > 4
    assert all(own.holm_p >= own.slope.p for own in together.subfields)


def test_models_without_bins_have_their_slopes_and_errors_on_the_page():
    data = make_data(n_items=16, n_models=3)
    built = [built_of(data, chapter).results for chapter in (ACCURACY, CALIBRATION)]
    source = SourceResults("human", {type(own): own for own in built})
    found = source.of(Calibration).calibration
    assert {type(model.binned) for model in found.models} == {MissingResult}
    page, words = page_of(CALIBRATION, source)
    fitted = [model.label for model in found.models if present(model.logistic)]
    assert fitted
    regressions, errors = ({row[0] for row in table.rows} for table in page.tables[:2])
    assert {*fitted} <= regressions & errors
    assert (
        "For the one language model" if len(fitted) == 1 else f"of {len(fitted)} models"
    ) in words


@pytest.mark.parametrize("verdict", Verdict)
def test_what_is_said_of_models_slopes_follows_their_verdicts(small, verdict):
    source = results_of(small)
    own = source.of(Calibration).calibration
    models = tuple(replace(model, direction=verdict) for model in own.models)

    def shown(some) -> str:
        changed = Calibration(replace(own, models=some))
        return page_of(
            CALIBRATION, replace(source, results={**source.results, Calibration: changed})
        )[1]

    one, every = shown(models[:1]), shown(models)
    assert ("accuracy rises with the" in one) == (verdict is Verdict.ABOVE)
    assert ("accuracy falls with the" in one) == (verdict is Verdict.BELOW)
    assert ("accuracy shows no clear slope" in one) == (verdict is Verdict.UNCLEAR)
    n_rising, n_falling = ((verdict is of) * len(models) for of in (Verdict.ABOVE, Verdict.BELOW))
    if verdict is Verdict.TOO_FEW:
        assert "too few test cases" in one
        assert "too few test cases" in every
    else:
        assert f"For {n_rising} of " in every
        assert f"and for {n_falling} it clearly falls" in every
