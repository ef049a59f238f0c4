"""The chapter on agreement: the published values, and what stays where people or models are missing."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from analysis.charts.figure import Figure
from analysis.codec import MissingResult, need
from analysis.data.dataset import SourceData
from analysis.report.chapter import Built
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.models.results import (
    Agreement,
    ContextAccuracy,
    Integration,
    RankAgreement,
)
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from analysis.stats.estimates import PairedTest
from tests.analysis.report.chapters.chapter_results import figure_of, results_of

ACCURACY = chapter_named("accuracy")
AGREEMENT = chapter_named("agreement")
INTEGRATION = chapter_named("integration")


AGREEMENT_EXACT = 1e-9


def agreement(data: SourceData) -> RankAgreement:
    return need(results_of(data, AGREEMENT).of(Agreement).agreement)


def draw(data: SourceData, name: str) -> Figure:
    return figure_of(AGREEMENT, AGREEMENT.build(data), name)


def test_published_models_agree_as_published(
    published: SourceData, reference: dict[str, Any]
) -> None:
    found, expected = agreement(published), reference["spearman"]
    assert list(found.names) == expected["models"]
    np.testing.assert_allclose(found.matrix, expected["llm_llm_matrix"], rtol=AGREEMENT_EXACT)
    for ours, theirs in (
        (found.model_model.mean, "llm_llm_mean"),
        (found.model_model.sd, "llm_llm_sd_ddof0"),
        (found.model_model.sd_ddof1, "llm_llm_sd_ddof1"),
        (found.model_model.min, "llm_llm_min"),
        (found.model_model.max, "llm_llm_max"),
        (found.model_model.n_pairs, "n_pairs"),
        (found.model_human_mean, "llm_human_mean"),
        (found.model_human_sd, "llm_human_sd_ddof0"),
    ):
        assert ours == pytest.approx(expected[theirs], rel=AGREEMENT_EXACT)


def test_each_published_model_agrees_with_people_as_published(
    published: SourceData, reference: dict[str, Any]
) -> None:
    models = agreement(published).models_human
    for model in models:
        expected = reference["spearman"]["llm_human"][model.name]
        rho = model.known
        assert rho is not None
        assert rho.ci95 is not None
        assert (rho.rho, rho.p) == pytest.approx(
            (expected["rho"], expected["p"]), rel=AGREEMENT_EXACT
        )
        assert rho.ci95[0] < rho.rho < rho.ci95[1]
    assert len(models) == 15


def test_without_people_models_are_still_compared(small: SourceData) -> None:
    no_people = replace(small, trials=small.trials.iloc[:0])
    found = agreement(no_people)
    assert (found.model_human_mean, found.model_human_ci95) == (None, None)
    assert isinstance(found.noise_ceiling, MissingResult)
    assert not isinstance(found.model_model, MissingResult)
    assert "between models and people" not in draw(no_people, "agreement").alt
    with pytest.raises(NotEnough, match="people"):
        draw(no_people, "models_humans_agreement")


def test_one_model_is_still_compared_with_people(small: SourceData) -> None:
    alone = replace(small, full=small.full[small.full["model"] == 0])
    found = agreement(alone)
    assert found.model_model_ci95 is None
    assert isinstance(found.model_model, MissingResult)
    (model,) = found.models_human
    assert model.known is not None
    assert found.model_human_mean == model.known.rho
    assert "between models." not in draw(alone, "agreement").alt

    with pytest.raises(NotEnough, match="alone"):
        draw(replace(alone, trials=small.trials.iloc[:0]), "agreement")
    with pytest.raises(NotEnough, match="No language model"):
        agreement(replace(small, full=small.full.iloc[:0]))


def test_one_item_and_people_who_are_always_right_give_reasons_not_errors(
    small: SourceData,
) -> None:
    first = replace(small, full=small.full[small.full["item"] == 0])
    assert np.isnan(agreement(first).matrix).all()
    found = agreement(replace(small, trials=small.trials.assign(is_correct=True)))
    assert found.model_human_mean is None
    assert isinstance(found.noise_ceiling, MissingResult)


def test_the_ceiling_is_drawn_only_where_two_halves_of_the_trials_agree(small: SourceData) -> None:
    found = agreement(small)
    assert not isinstance(found.noise_ceiling, MissingResult)
    for reliability, is_drawn in ((0.25, True), (-0.1, False)):
        halves = replace(found.noise_ceiling.halves, spearman_brown=reliability)
        changed = replace(found, noise_ceiling=replace(found.noise_ceiling, halves=halves))
        figure = figure_of(AGREEMENT, Built(Agreement(changed)), "models_humans_agreement")
        assert ("allows 0.50 at most" in figure.alt) == is_drawn
        assert ("ceiling" in figure.caption) == is_drawn


# --- The chapter on integration: the published values, and where a condition is missing.


INTEGRATION_EXACT = 1e-9
TEST = {
    "n": "n",
    "df": "dof",
    "mean_difference": "mean_diff",
    "sd_difference": "sd_diff",
    "t": "t",
    "p": "p_two_sided",
    "d_av": "cohen_d_pingouin_dav",
    "d_z": "cohen_dz",
    "ci95": "ci95",
}


def integration(data: SourceData) -> ContextAccuracy:
    return need(results_of(data, INTEGRATION).of(Integration).integration)


def same_test(found: PairedTest | MissingResult, expected: dict[str, Any]) -> None:
    assert isinstance(found, PairedTest)
    for ours, theirs in TEST.items():
        assert asdict(found)[ours] == pytest.approx(expected[theirs], rel=INTEGRATION_EXACT), ours


def test_isolated_sentences_give_the_published_accuracies(
    published: SourceData, reference: dict[str, Any]
) -> None:
    found, expected = integration(published), reference["iso"]
    assert found.n_sentences == 488
    for own, name in ((found.pooled, "pooled"), (found.by_item, "item")):
        assert own.mean == pytest.approx(expected[f"mean_{name}"], rel=INTEGRATION_EXACT)
        assert own.sd == pytest.approx(expected[f"sd_{name}"], rel=INTEGRATION_EXACT)
        assert own.n_models_below_humans == expected[f"n_llm_below_human_{name}"]
        same_test(own.full_vs_isolated, expected[f"full_vs_iso_{name}_t"])


def test_each_model_has_its_published_isolated_and_swapped_accuracy(
    published: SourceData, reference: dict[str, Any]
) -> None:
    models = integration(published).models
    assert [model.name for model in models] == reference["meta"]["models_order"]
    for model in models:
        expected = reference["iso"]["llm"][model.name]
        assert model.n_sentences == expected["n_sentences"]
        assert model.n_items == model.n_items_isolated == expected["n_items"]
        pooled, by_item = (
            expected[f"accuracy_{how}"] for how in ("pooled_sentences", "mean_of_item_means")
        )
        assert model.isolated_pooled == pytest.approx(pooled, rel=INTEGRATION_EXACT)
        assert model.isolated_item == pytest.approx(by_item, rel=INTEGRATION_EXACT)
        for swapped in model.swapped:
            expected = reference[f"swap_seed{swapped.seed}"]["llm"][model.name]
            assert swapped.accuracy == pytest.approx(expected["accuracy"], rel=INTEGRATION_EXACT)
            assert swapped.sem == pytest.approx(expected["sem_binomial"], rel=INTEGRATION_EXACT)


@pytest.mark.parametrize(("position", "seed"), [(0, 42), (1, 1234)])
def test_swapped_contexts_give_the_published_tests(
    published: SourceData, reference: dict[str, Any], position: int, seed: int
) -> None:
    found = integration(published).swapped[position]
    expected = reference[f"swap_seed{seed}"]
    assert found.seed == seed
    assert found.mean == pytest.approx(expected["mean"], rel=INTEGRATION_EXACT)
    assert found.sd == pytest.approx(expected["sd"], rel=INTEGRATION_EXACT)
    same_test(found.full_vs_swapped, expected["full_vs_swap_t"])
    same_test(found.swapped_vs_isolated_pooled, expected["swap_vs_iso_pooled_t"])


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
    # A test takes three pairs
    assert isinstance(found.swapped[0].full_vs_swapped, MissingResult)


def test_tests_pair_a_model_with_itself(small: SourceData) -> None:
    found = integration(small)
    full, pooled = np.array([[m.full, m.isolated_pooled] for m in found.models]).T
    expected = stats.ttest_rel(full, pooled)
    test = found.pooled.full_vs_isolated
    assert isinstance(test, PairedTest)
    assert (test.t, test.p) == pytest.approx((expected.statistic, expected.pvalue))


def test_only_swaps_or_only_sentences_or_neither(small: SourceData) -> None:
    swaps = integration(replace(small, isolated=small.isolated.iloc[:0]))
    assert swaps.pooled.mean is None
    assert swaps.by_item.n_models_below_humans is None
    assert len(swaps.swapped) == 2
    single = integration(replace(small, swapped=small.swapped.iloc[:0]))
    assert single.swapped == ()
    assert single.by_item.mean is not None
    with pytest.raises(NotEnough, match="single sentences"):
        integration(
            replace(small, isolated=small.isolated.iloc[:0], swapped=small.swapped.iloc[:0])
        )


def test_without_people_nobody_is_below_them(small: SourceData) -> None:
    found = integration(replace(small, trials=small.trials.iloc[:0]))
    assert found.pooled.n_models_below_humans is None
    assert found.pooled.mean is not None


def test_the_figure_has_a_mark_for_each_condition_that_a_model_was_scored_under(
    small: SourceData,
) -> None:
    some = replace(small, isolated=small.isolated[small.isolated["model"] != 1])
    humans = results_of(some, ACCURACY).of(Accuracy)
    figure = figure_of(INTEGRATION, INTEGRATION.build(some), "", humans)
    marks = figure.table.groupby("name")["condition"].agg(list)
    whole, foreign = "whole abstract", "foreign context"
    assert marks["org/model-0"] == [whole, "single sentences", foreign, foreign]
    assert marks["org/model-1"] == [whole, foreign, foreign]
    assert "On single sentences" in figure.alt
    without = replace(some, isolated=small.isolated.iloc[:0])
    assert (
        "On single sentences"
        not in figure_of(INTEGRATION, INTEGRATION.build(without), "", humans).alt
    )
