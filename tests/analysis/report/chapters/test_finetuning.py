"""The chapter on fine-tuning: published comparisons, and pairs of models that are not whole."""

from dataclasses import asdict, replace
from typing import Any

import pytest

from analysis.codec import MissingResult, need
from analysis.data.dataset import SourceData
from analysis.report.chapters.finetuning import CHAPTER
from analysis.report.chapters.finetuning.results import Comparison, FineTuning, TunedModel
from analysis.stats import NotEnough
from tests.analysis.report.chapters.chapter_results import figure_of, page_of, results_of

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


def models_of(data: SourceData) -> tuple[TunedModel, ...]:
    return need(results_of(data, CHAPTER).of(FineTuning).finetuning)


def test_every_published_tuned_model_compares_as_published(
    published: SourceData, reference: dict[str, Any]
) -> None:
    models = {model.name: model for model in models_of(published)}
    for name, expected in reference["finetuning"].items():
        found = models[name].comparison
        assert models[name].base == expected["base"]
        assert isinstance(found, Comparison)
        ppl, signed = found.ppl_correct, expected["signed_diff_t"]
        for ours, theirs in (
            (found.before.accuracy, expected["acc_before"]),
            (found.after.accuracy, expected["acc_after"]),
            (found.before.sem, expected["sem_before"]),
            (found.after.sem, expected["sem_after"]),
            (found.mcnemar.gained, expected["gained"]),
            (found.mcnemar.lost, expected["lost"]),
            (found.mcnemar.p, expected["mcnemar_exact_p"]),
            (ppl.before_mean, expected["correct_ppl_before_mean"]),
            (ppl.after_mean, expected["correct_ppl_after_mean"]),
            *((asdict(ppl.test)[key], expected["correct_ppl_t"][TEST[key]]) for key in TEST),
            (found.signed_difference.t, signed["t"]),
            (found.signed_difference.p, signed["p"]),
        ):
            assert ours == pytest.approx(theirs, rel=1e-9), name


def test_models_are_compared_on_the_items_that_both_have_in_any_order(small: SourceData) -> None:
    shuffled = small.full.sample(frac=1, random_state=0)
    assert models_of(replace(small, full=shuffled)) == models_of(small)
    fewer = small.full[(small.full["model"] != 0) | (small.full["item"] < 10)]
    data = replace(small, full=fewer)
    assert models_of(data)[0].n_items == 10
    assert len(CHAPTER.build(data).tables["finetuning_items"]) == 10


def test_the_figure_names_a_tuned_model_beside_its_base(small: SourceData) -> None:
    figure = figure_of(CHAPTER, CHAPTER.build(small))
    assert figure.caption.startswith("n = 1 tuned model on 30 test cases")
    (model,) = models_of(small)
    assert isinstance(model.comparison, Comparison)
    row = figure.table.iloc[0]
    assert (row["name"], row["base"]) == ("org/model-3", "org/model-0")
    assert row["mcnemar_gained"] == model.comparison.mcnemar.gained
    assert row["ppl_t"] == model.comparison.ppl_correct.test.t


def test_a_single_common_item_gives_a_reason_and_no_pair_is_refused(small: SourceData) -> None:
    one = replace(small, full=small.full[(small.full["model"] != 0) | (small.full["item"] == 3)])
    (model,) = models_of(one)
    assert model.n_items == 1
    assert isinstance(model.comparison, MissingResult)
    page, text = page_of(CHAPTER, results_of(one, CHAPTER))
    assert len(page.tables[0].rows) == 1
    assert "gained" not in text
    with pytest.raises(NotEnough, match="shares enough"):
        figure_of(CHAPTER, CHAPTER.build(one))
    with pytest.raises(NotEnough, match="tuned from"):
        CHAPTER.build(replace(small, full=small.full[small.full["model"] != 0]))
