"""The chapters on agreement and on integration: what stays where people, models or a condition are missing."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.codec import MissingResult, need
from analysis.data.dataset import SourceData
from analysis.report.chapter import SourceResults
from analysis.report.chapters.models.figures import integration as integration_figure
from analysis.report.chapters.models.results import (
    Agreement,
    ContextAccuracy,
    Integration,
    RankAgreement,
    Reliability,
)
from analysis.report.chapters.models.words import integration_figure as integration_words
from analysis.report.contents import chapter_named
from analysis.stats.agreement import corrected
from analysis.stats.estimates import proportion
from lib.formatting import coefficient, coefficient_interval, percent
from tests.analysis.report.chapters.chapter_results import figure_of, page_of, results_of

AGREEMENT = chapter_named("agreement")
INTEGRATION = chapter_named("integration")
ACCURACY = chapter_named("accuracy")


def agreement(data: SourceData) -> RankAgreement:
    return need(results_of(data, AGREEMENT).of(Agreement).agreement)


def test_without_people_models_are_still_compared(small: SourceData) -> None:
    no_people = replace(small, trials=small.trials.iloc[:0])
    found = agreement(no_people)
    assert (found.model_human_mean, found.model_human_ci95) == (None, None)
    assert isinstance(found.noise_ceiling, MissingResult)
    assert not isinstance(found.model_model, MissingResult)


@pytest.mark.parametrize("reliability", [0.05, 0.95])
def test_agreement_of_people_is_said_by_its_value_and_interval(
    small: SourceData, reliability: float
) -> None:
    found = agreement(small)
    ceiling = need(found.noise_ceiling)
    halves = replace(ceiling.halves, spearman_brown=reliability, ci95=(0.01, 0.97))
    own = replace(found, noise_ceiling=replace(ceiling, halves=halves))
    source = SourceResults("human", {Agreement: Agreement(own)})
    text = " ".join(page_of(AGREEMENT, source)[1].split())
    assert (
        f"measured as the split-half reliability of their accuracies, is {coefficient(reliability)}"
        in text
    )
    assert coefficient_interval((0.01, 0.97)) in text
    assert "limited" not in text
    assert "(scored so that larger values mean easier) and the human accuracy" in text


@pytest.mark.parametrize(("low", "is_said"), [(0.01, True), (-0.77, False)])
def test_no_correlation_is_corrected_for_a_reliability_that_is_not_clear(
    small: SourceData, low: float, is_said: bool
) -> None:
    """Divided by the root of .015, a mean of -.095 was said to be -.789."""
    found = agreement(small)
    halves = replace(need(found.noise_ceiling).halves, spearman_brown=0.5, ci95=(low, 0.97))
    freed = corrected(0.2, halves)
    assert (freed is not None) == is_said
    own = replace(found, noise_ceiling=Reliability(freed, halves))
    text = page_of(AGREEMENT, SourceResults("human", {Agreement: Agreement(own)}))[1]
    assert ("After correction for this reliability, the correlation" in text) == is_said
    assert ("so none is corrected here" in text) != is_said
    built = AGREEMENT.build(small)
    figure = figure_of(AGREEMENT, replace(built, results=Agreement(own)), "models_humans_agreement")
    assert ("noise would keep it below about" in figure.alt) == is_said


def integration(data: SourceData) -> ContextAccuracy:
    return need(results_of(data, INTEGRATION).of(Integration).integration)


def test_models_without_one_of_the_conditions_do_not_hide_the_others(small: SourceData) -> None:
    some = replace(
        small,
        full=small.full[small.full["model"] != 0],
        isolated=small.isolated[small.isolated["model"] != 1],
    )
    found = integration(some)
    first, second, third = found.models
    assert np.isnan(first.full)
    assert np.isnan(second.isolated_pooled)
    assert (second.n_items, second.n_items_isolated, second.n_sentences) == (30, 0, 0)
    assert third.full > 0
    assert isinstance(found.pooled.full_vs_isolated, MissingResult)  # one model has both
    assert found.n_models == 2
    # Means of other models are not set beside each other as if they were of the same
    alt = integration_words(found, has_chat=False).alt
    assert "On average 2 models are right on " in alt
    assert f"On single sentences: {percent(found.pooled.mean)} (2 models)." in alt
    assert all(
        f"{percent(row.mean)} with seed {row.seed} ({row.n_models} models)" in alt
        for row in found.swapped
    )
    # A test takes three pairs
    assert isinstance(found.swapped[0].full_vs_swapped, MissingResult)


def test_the_figures_intervals_are_those_of_the_results_with_ties(small: SourceData) -> None:
    """A third of whole abstracts and a fourth of sentences tie; a model that was asked has no row."""
    asked = small.models["method"].mask(small.models.index == 2, "choice")
    isolated, swapped = (rows[rows["model"] < 2] for rows in (small.isolated, small.swapped))
    some = replace(
        small,
        models=small.models.assign(method=asked),
        full=small.full.assign(points=small.full["points"].mask(small.full["item"] % 3 == 0, 0.5)),
        isolated=isolated.assign(points=isolated["points"].mask(isolated["item"] % 4 == 0, 0.5)),
        swapped=swapped,
    )
    source = results_of(some, INTEGRATION, ACCURACY)
    found = need(source.of(Integration).integration)
    assert len(found.models) == 2
    drawn = integration_figure(source, {}).table
    ends = list(drawn[["ci_low", "ci_high"]].itertuples(index=False, name=None))
    assert ends == [
        ci95
        for m in found.models
        for ci95 in (m.full_ci95, m.isolated_ci95, *(s.ci95 for s in m.swapped))
    ]
    for number, model in enumerate(found.models):
        points = some.full.loc[some.full["model"] == number, "points"]
        assert model.full_ci95 == proportion(points).ci95


def test_the_sentence_counts_the_models_whose_correlation_is_known(small: SourceData) -> None:
    first = small.full["model"] == 0
    tied = {"points": 0.5, "margin_nats": 0.0, "ppl_altered": small.full["ppl_original"]}
    full = small.full.assign(**{n: small.full[n].mask(first, v) for n, v in tied.items()})
    source = results_of(replace(small, full=full), AGREEMENT)
    found = need(source.of(Agreement).agreement)
    assert found.n_models_human == len(found.models_human) - 1
    words = page_of(AGREEMENT, source)[1]
    assert (
        f"(95% CI {coefficient_interval(found.model_human_ci95)}; {found.n_items} test cases)."
        in words
    )
    assert f"(95% CI {coefficient_interval(found.model_model_ci95)}" in words
    n = found.n_models_human
    assert (f"each of the {n} models" if n > 1 else "difficulty for the model ") in words
