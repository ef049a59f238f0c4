"""The chapter on differences by test case: humans against models, item by item."""

from dataclasses import replace

import pandas as pd
import pytest
from scipy import stats

from analysis.data.dataset import SourceData
from analysis.report.chapters.uncertainty.results import (
    Ahead,
    Differences,
    ItemDifferences,
    build_item_differences,
)
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import page_of, results_of

CHAPTER = chapter_named("item_differences")


def differences(data: SourceData) -> ItemDifferences:
    return results_of(data, CHAPTER).of(Differences).item_differences


def test_the_published_items_are_all_tested(published):
    found, table = (
        differences(published),
        build_item_differences(published).tables["item_differences"],
    )
    assert found.n_items == len(table) == 200
    assert found.models_mean_accuracy == pytest.approx(0.814333333333)
    assert found.n_significant_holm <= found.n_significant_fdr == (table["q"] < 0.05).sum()
    assert [row.ahead for row in found.items] == [Ahead.MODELS] * 10 + [Ahead.HUMANS] * 10
    assert found.items[0].difference == table["difference"].max()
    assert found.items[10].difference == table["difference"].min()
    row = table.iloc[7]
    right = round(row["humans"] * row["n_trials"]), round(row["models_mean"] * 15)
    expected = stats.fisher_exact(
        [[right[0], row["n_trials"] - right[0]], [right[1], 15 - right[1]]]
    )
    assert row["p"] == pytest.approx(expected.pvalue)


def test_the_page_lists_the_items_that_differ_most(small):
    source = results_of(small, CHAPTER)
    found = source.of(Differences).item_differences
    page, _ = page_of(CHAPTER, source)
    assert [row[0] for row in page.tables[0].rows] == [row.item for row in found.items]


def test_items_without_trials_or_scores_are_left_out():
    data = make_data(seed=3)
    some = replace(
        data,
        trials=data.trials[data.trials["item"] < 20],
        full=data.full[data.full["item"] >= 5],
    )
    assert differences(some).n_items == 15
    for absent in ({"full": data.full.iloc[:0]}, {"trials": data.trials.iloc[:0]}):
        with pytest.raises(NotEnough):
            build_item_differences(replace(data, **absent))
    with pytest.raises(NotEnough, match="same items"):
        build_item_differences(replace(some, trials=data.trials[data.trials["item"] < 5]))


def test_a_figure_that_leaves_out_dots_says_so(small):
    built = build_item_differences(small)
    source = results_of(small, CHAPTER)
    frame = pd.concat([built.tables["item_differences"]] * 120, ignore_index=True)
    found = CHAPTER.figure_builders()["item_differences"](source, {"item_differences": frame})
    assert "1,800 of them are drawn" in found.caption
    assert len(found.table) == len(frame) == 3600
