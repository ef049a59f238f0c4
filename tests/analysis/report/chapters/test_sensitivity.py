"""Sensitivity: each row differs from the headline by what it says."""

import pytest

from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.uncertainty.results import Sensitivity
from analysis.report.contents import chapter_named
from tests.analysis.report.chapters.chapter_results import results_of

ACCURACY = chapter_named("accuracy")
CHAPTER = chapter_named("sensitivity")


def test_rows_differ_from_the_headline_by_what_they_say(published):
    source = results_of(published, ACCURACY, CHAPTER)
    humans = source.of(Accuracy).humans
    rows = {choice.name: choice for choice in source.of(Sensitivity).sensitivity}
    assert rows["as analysed"].difference_humans is None
    assert rows["without damaged items"].n_items == 199
    assert rows["untouched sliders left out"].humans.share.n == 1011 - 57
    for name, mean in (
        ("mean over items", humans.over_items),
        ("mean over participants", humans.over_participants),
    ):
        assert rows[name].humans.over == mean
        assert rows[name].difference_humans == pytest.approx(mean.mean - humans.trials.accuracy)
    in_set = published.full[published.full["model"] < 15]
    half = in_set["is_correct"].where(~in_set["is_near_tie"], 0.5).groupby(in_set["model"]).mean()
    assert rows["near-ties half right"].models_mean.mean == pytest.approx(half.mean())
    far = in_set[~in_set["is_near_tie"]].groupby("model")["is_correct"].mean()
    assert rows["without near-ties"].models_mean.mean == pytest.approx(far.mean())
