"""Calibration: the published fits row by row, and what the page may say of them."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest

from analysis.codec import MissingResult, present
from analysis.report.chapter import About, SourceResults
from analysis.report.chapters.confidence.results import Calibration, Expertise
from analysis.report.chapters.confidence.words import (
    FEWEST_PER_BIN,
    calibration_humans_figure,
    calibration_models_figure,
    expertise_figure,
    not_drawn,
    table_s3_figure,
)
from analysis.report.contents import chapter_named
from analysis.stats.calibration import SAME, Bin, Binned, Line
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
ABOUT = About("study", is_simulated=False)


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
def test_sentences_on_models_slopes_follow_their_verdicts(small, verdict):
    source = results_of(small)
    own = source.of(Calibration).calibration
    models = tuple(replace(model, direction=verdict) for model in own.models)

    def shown(some) -> str:
        changed = Calibration(replace(own, models=some))
        return page_of(
            CALIBRATION, replace(source, results={**source.results, Calibration: changed})
        )[1]

    one, every = shown(models[:1]), shown(models)
    assert ("accuracy rises with its" in one) == (verdict is Verdict.ABOVE)
    assert ("accuracy falls with its" in one) == (verdict is Verdict.BELOW)
    assert ("accuracy shows no clear slope" in one) == (verdict is Verdict.UNCLEAR)
    n_rising, n_falling = ((verdict is of) * len(models) for of in (Verdict.ABOVE, Verdict.BELOW))
    if verdict is Verdict.TOO_FEW:
        assert "too few test cases" in one
        assert "too few test cases" in every
    else:
        assert f"For {n_rising} of " in every
        assert f"and for {n_falling} it clearly falls" in every
        mixed = shown((replace(models[0], direction=Verdict.TOO_FEW), *models[1:]))
        assert "For 1 of them, there are too few test cases to say." in mixed


def test_a_model_whose_confidence_does_not_vary_has_no_direction_and_is_named(small):
    full = small.full.copy()
    own = full["model"] == 0
    sign = np.where(full.loc[own, "points"] == 1, 1.0, -1.0)
    full.loc[own, "ppl_altered"] = 20.0 + 2 * sign
    full.loc[own, "ppl_original"] = 20.0
    source = results_of(replace(small, full=full))
    found = source.of(Calibration).calibration
    constant = found.models[0]
    assert (constant.direction, constant.logistic) == (None, MissingResult(*SAME))
    assert found.table_s3[0].fit == MissingResult(*SAME)
    words = page_of(CALIBRATION, source)[1]
    assert f"There is no slope of {constant.label}. All confidences are the same." in words


@pytest.fixture(scope="module")
def source(small) -> SourceResults:
    return results_of(small)


def said_of_people(source: SourceResults, **changes) -> str:
    """The chapter's sentence on people, of results with these changes."""
    own = source.of(Calibration).calibration
    changed = Calibration(replace(own, humans=replace(own.humans, **changes)))
    return CALIBRATION.page(
        SourceResults("human", {**source.results, Calibration: changed}), ABOUT
    ).finding


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.ABOVE, "Human accuracy rose with confidence (r = "),
        (Verdict.BELOW, "Human accuracy fell with confidence (r = "),
        (Verdict.UNCLEAR, "Human accuracy showed no clear slope over confidence (r = "),
        (Verdict.TOO_FEW, "Too few participants or test cases to say whether human accuracy changed with confidence (r = "),
    ],
)  # fmt: skip
def test_the_sentence_on_peoples_slope_over_confidence_follows_its_verdict(source, verdict, words):
    humans = source.of(Calibration).calibration.humans
    said = said_of_people(source, slope=replace(humans.slope, direction=verdict))
    assert said.startswith(words)
    assert "; logistic slope " in said


def test_without_a_slope_human_accuracy_is_only_plotted_against_confidence(source):
    said = said_of_people(source, slope=MissingResult("No slope.", "More trials."))
    assert said.startswith("Human accuracy is plotted against confidence (r = ")
    assert "slope" not in said
    assert said.endswith(" trials).")


def test_without_bins_nothing_is_said_of_people(source):
    assert said_of_people(source, binned=MissingResult("No bins.", "More trials.")) == ""


def expertise_said(source: SourceResults, **changes) -> str:
    """The chapter's words, of results with these changes."""
    own = source.of(Expertise).expertise
    changed = SourceResults("human", {Expertise: Expertise(replace(own, **changes))})
    return " ".join(paragraph.text for paragraph in EXPERTISE.page(changed, ABOUT).text)


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.ABOVE, "Over trials, accuracy rises with expertise (slope"),
        (Verdict.BELOW, "Over trials, accuracy falls with expertise (slope"),
        (Verdict.UNCLEAR, "Over trials, accuracy shows no clear direction over expertise (slope"),
        (Verdict.TOO_FEW, "There are too few participants or test cases to say whether accuracy changes with expertise (slope"),
    ],
)  # fmt: skip
def test_the_sentence_on_the_slope_over_expertise_follows_its_verdict(source, verdict, words):
    slope = source.of(Expertise).expertise.slope
    assert words in expertise_said(source, slope=replace(slope, direction=verdict))


def test_a_single_subfield_with_a_slope_is_in_the_table_alone(source):
    own = source.of(Expertise).expertise.slopes_by_subfield
    alone = replace(own, subfields=own.subfields[:1], tests=replace(own.tests, n_tests=1))
    assert "within subfields: After Holm's correction" in expertise_said(source)
    assert "one for each subfield" not in expertise_said(source, slopes_by_subfield=alone)


def test_equal_quartiles_of_expertise_are_no_range(source):
    whole = source.of(Expertise).expertise.distributions[-1]
    same = replace(whole, ratings=replace(whole.ratings, q1=50.0, q3=50.2))
    assert "at least half of the ratings were about the same." in expertise_said(
        source, distributions=(same,)
    )
    assert "half of the ratings lay between" in expertise_said(source)


def binned_of(r: float, n: int = 40) -> Binned:
    """Two bins, and a line of this correlation."""
    bins = tuple(Bin(number, 10.0, n // 2, 5, 0.5, 0.1, (0.3, 0.7), 0.3, 0.7) for number in (0, 1))
    return Binned(n, bins, Line(r, 0.5, r, 0.2, 0.1, 0.1, None))


@pytest.mark.parametrize(
    ("correlations", "words"),
    [
        ([nan], "Accuracy over confidence of 1 model."),
        ([0.5, nan], "The correlation over bins is positive in 1 of 2 models: r 0.50."),
        ([0.5, -0.25], "The correlation over bins is positive in 1 of 2 models: r from \u22120.25 to 0.50."),
    ],
)  # fmt: skip
def test_the_alternative_text_has_the_range_of_the_correlations_that_are_defined(
    correlations, words
):
    fits = [binned_of(r) for r in correlations]
    assert calibration_models_figure(fits, has_asked=False, has_chat=False).alt == words


def test_the_alternative_text_tells_the_end_bins_from_the_range():
    own = binned_of(0.5)
    first = own.bins[0]
    bins = [replace(first, accuracy=share) for share in (0.36, 0.86, 0.24, 0.57)]
    assert calibration_humans_figure(replace(own, bins=tuple(bins))).alt.startswith(
        "People's accuracy is 36% in the least confident bin and 57% in the most confident, and between 24% and 86% over all bins;"
    )


def test_captions_mention_asked_and_hollow_models_where_there_are_any():
    one = calibration_models_figure([binned_of(0.5)], has_asked=False, has_chat=False).caption
    assert one.startswith("n = 1 model on up to 40 test cases, in bins of equal size. ")
    assert "asked" not in one
    assert "Hollow" not in one
    fits = [binned_of(0.5), binned_of(0.2, 60)]
    two = calibration_models_figure(fits, has_asked=True, has_chat=True).caption
    assert two.startswith("n = 2 models, each on up to 60 test cases, in bins of equal size. ")
    assert "For models that were asked, it is the absolute log-odds of their answers." in two
    assert two.endswith("Hollow: chat or instruction-tuned models.")
    fitted = table_s3_figure(1000, 1, [0.2, -0.1], has_chat=True)
    assert fitted.caption.startswith("n = 1,000 observations at most per fit, 1 model. ")
    assert fitted.caption.endswith("Hollow: chat or instruction-tuned models.")
    assert fitted.alt == "The coefficient of confidence is positive in 1 of 2 fits to all data."


def test_a_subfield_without_a_name_is_not_stated(source):
    whole = source.of(Expertise).expertise.distributions[-1]
    alt = expertise_figure([replace(whole, subfield=""), whole]).alt
    assert "80th percentiles: not stated " in alt
    assert "; All " in alt


def test_the_only_subfield_is_no_second_test_of_expertise():
    data = make_data(n_participants=40, n_items=20, seed=21)
    items = data.items.assign(subfield="Ecology")
    own = results_of(replace(data, items=items), EXPERTISE).of(Expertise).expertise
    assert isinstance(own.slopes_by_subfield, MissingResult)
    assert own.slope.holm_p == own.slope.slope.p


def test_bins_of_few_judgments_are_not_drawn_and_the_page_says_so(source: SourceResults) -> None:
    binned = source.of(Calibration).calibration.humans.binned
    least = FEWEST_PER_BIN * len(binned.bins)
    few = replace(binned, n=least - 1)
    assert not_drawn([("Humans", replace(binned, n=least))]) == ""
    assert not_drawn([("Humans", few), ("Model 0", few)]).endswith(
        "each: Humans and Model 0. Their regressions are in the table."
    )
