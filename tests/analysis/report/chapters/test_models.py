"""The chapter on agreement: the published values, and what stays where people or models are missing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.codec import MissingResult, need
from analysis.data.dataset import SourceData
from analysis.report.chapters.models.results import (
    Agreement,
    ContextAccuracy,
    Integration,
    RankAgreement,
)
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from tests.analysis.report.chapters.chapter_results import results_of, same_test

AGREEMENT = chapter_named("agreement")
INTEGRATION = chapter_named("integration")


AGREEMENT_EXACT = 1e-9


def agreement(data: SourceData) -> RankAgreement:
    return need(results_of(data, AGREEMENT).of(Agreement).agreement)


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


def test_one_model_is_still_compared_with_people(small: SourceData) -> None:
    alone = replace(small, full=small.full[small.full["model"] == 0])
    found = agreement(alone)
    assert found.model_model_ci95 is None
    assert isinstance(found.model_model, MissingResult)
    (model,) = found.models_human
    assert model.known is not None
    assert found.model_human_mean == model.known.rho
    with pytest.raises(NotEnough, match="No language model"):
        agreement(replace(small, full=small.full.iloc[:0]))


# --- The chapter on integration: the published values, and where a condition is missing.


INTEGRATION_EXACT = 1e-9


def integration(data: SourceData) -> ContextAccuracy:
    return need(results_of(data, INTEGRATION).of(Integration).integration)


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
