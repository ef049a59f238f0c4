"""The chapter on agreement: the published values, and what stays where people or models are missing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.charts.figure import Figure
from analysis.codec import MissingResult, need
from analysis.data.dataset import SourceData
from analysis.report.chapter import Built
from analysis.report.chapters.models.results import Agreement, RankAgreement
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from tests.analysis.report.chapters.chapter_results import figure_of, results_of

CHAPTER = chapter_named("agreement")

EXACT = 1e-9


def agreement(data: SourceData) -> RankAgreement:
    return need(results_of(data, CHAPTER).of(Agreement).agreement)


def draw(data: SourceData, name: str) -> Figure:
    return figure_of(CHAPTER, CHAPTER.build(data), name)


def test_published_models_agree_as_published(
    published: SourceData, reference: dict[str, Any]
) -> None:
    found, expected = agreement(published), reference["spearman"]
    assert list(found.names) == expected["models"]
    np.testing.assert_allclose(found.matrix, expected["llm_llm_matrix"], rtol=EXACT)
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
        assert ours == pytest.approx(expected[theirs], rel=EXACT)


def test_each_published_model_agrees_with_people_as_published(
    published: SourceData, reference: dict[str, Any]
) -> None:
    models = agreement(published).models_human
    for model in models:
        expected = reference["spearman"]["llm_human"][model.name]
        rho = model.known
        assert rho is not None
        assert rho.ci95 is not None
        assert (rho.rho, rho.p) == pytest.approx((expected["rho"], expected["p"]), rel=EXACT)
        assert rho.ci95[0] < rho.rho < rho.ci95[1]
    assert len(models) == 15


def test_the_published_means_lie_in_their_intervals(published: SourceData) -> None:
    found = agreement(published)
    for mean, ci95 in (
        (found.model_model.mean, found.model_model_ci95),
        (found.model_human_mean, found.model_human_ci95),
    ):
        assert mean is not None
        assert ci95 is not None
        assert 0 < ci95[0] < mean < ci95[1]
    assert found.resamples == 1000


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
        figure = figure_of(CHAPTER, Built(Agreement(changed)), "models_humans_agreement")
        assert ("allows 0.50 at most" in figure.alt) == is_drawn
        assert ("ceiling" in figure.caption) == is_drawn
