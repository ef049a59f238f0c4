"""The chapter on exposures: how often each test case was judged."""

from dataclasses import replace

import pytest

from analysis.report.chapters.participants.results import ItemExposures, build_exposures
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from tests.analysis.report.chapters.chapter_results import page_of, results_of

CHAPTER = chapter_named("exposures")


def test_published_exposures_are_those_published(published, reference):
    found = results_of(published, CHAPTER).of(ItemExposures).exposures
    expected = reference["human_data"]["exposures"]["human"]
    for name in ("n_items", "mean", "sd_ddof0", "min", "max"):
        assert getattr(found, name) == pytest.approx(expected[name], rel=1e-9)
    assert found.sd == pytest.approx(expected["sd_ddof1"], rel=1e-9)
    assert {str(b.n): b.items for b in found.histogram} == expected["distribution"]


def test_an_item_that_nobody_judged_counts_as_judged_never(small):
    some = small.trials[small.trials["item"] != 4]
    built = build_exposures(replace(small, trials=some))
    assert (built.results.exposures.min, built.results.exposures.n_items) == (0, 30)
    assert built.tables["exposures_items"]["n_trials"].iloc[4] == 0
    with pytest.raises(NotEnough, match="Nobody"):
        build_exposures(replace(small, trials=some.iloc[:0]))


def test_the_page_and_the_figure_show_the_range_or_the_one_number(small):
    source = results_of(small, CHAPTER)
    own = source.of(ItemExposures).exposures
    page, text = page_of(CHAPTER, source)
    assert f"from {own.min} to {own.max}" in text
    assert len(page.tables[0].rows) == len(own.histogram)
    figure = CHAPTER.figure_builders()["exposures"](source, {})
    assert figure.table["items"].sum() == own.n_items
    once = replace(own, min=8, max=8)
    alike = replace(source, results={ItemExposures: ItemExposures(once)})
    assert "each 8 times" in page_of(CHAPTER, alike)[1]
