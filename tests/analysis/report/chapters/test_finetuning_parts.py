"""The chapter on fine-tuning: subfields, cut-offs, reference texts and trainings of a pair."""

from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.codec import MissingResult, need
from analysis.data.dataset import SourceData, TrainingSummary
from analysis.report.chapters.finetuning.results import FineTuning, TunedModel
from analysis.report.contents import chapter_named
from lib.formatting import DASH
from tests.analysis.report.chapters.chapter_results import page_of, results_of

CHAPTER = chapter_named("finetuning")

BASE, TUNED = 0, 3  # of `small`


def pair_of(data: SourceData) -> TunedModel:
    (model,) = need(results_of(data, CHAPTER).of(FineTuning).finetuning)
    return model


def right(data: SourceData, model: int) -> "pd.Series[bool]":
    return data.full[data.full["model"] == model].set_index("item")["is_correct"].sort_index()


def with_cutoffs(data: SourceData, **cutoffs: str) -> SourceData:
    """`base` and `tuned`: days."""
    days = np.full(len(data.models), "NaT", dtype="datetime64[D]")
    for name, model in (("base", BASE), ("tuned", TUNED)):
        days[model] = cutoffs.get(name, "NaT")
    return replace(data, models=data.models.assign(cutoff=days))


def trained(last: date | None, **known: Any) -> dict[int, TrainingSummary]:
    values = {
        "corpus": "papers",
        "mode": "lora",
        "documents": 1200,
        "corpus_tokens": 340_000,
        "last_published": last,
        "tokens_seen": 680_000,
        "trainable_parameters": 4096,
        "held_out_before": 3.25,
        "held_out_after": 2.5,
    }
    return {TUNED: TrainingSummary(**values | known)}


# Subfields


def test_subfields_count_what_each_changed_and_together_make_the_whole(small: SourceData) -> None:
    model = pair_of(small)
    before, after = right(small, BASE), right(small, TUNED)
    for own in model.subfields:
        items = np.flatnonzero(small.items["subfield"] == own.subfield)
        found = need(own.part.decisions)
        assert own.part.n_items == len(items)
        assert found.before.n_correct == before.loc[items].sum()
        assert found.after.n_correct == after.loc[items].sum()
        assert found.mcnemar.difference == pytest.approx(
            after.loc[items].mean() - before.loc[items].mean()
        )
    changes = [need(own.part.decisions).mcnemar for own in model.subfields]
    whole = need(model.comparison).mcnemar
    assert sum(change.gained for change in changes) == whole.gained
    assert sum(change.lost for change in changes) == whole.lost


def test_a_subfield_of_two_items_has_its_number_and_no_difference(small: SourceData) -> None:
    subfield = np.where(np.arange(30) < 2, "Rare", "Common")
    data = replace(small, items=small.items.assign(subfield=subfield))
    rare, common = pair_of(data).subfields
    assert (rare.subfield, rare.part.n_items) == ("Rare", 2)
    assert isinstance(rare.part.decisions, MissingResult)
    assert need(common.part.decisions).before.n == 28
    page, _ = page_of(CHAPTER, results_of(data, CHAPTER))
    (table,) = [t for t in page.tables if "subfield" in t.caption]
    assert table.rows[0][1:] == ("Rare", "2", DASH, DASH, DASH, DASH)


# Cut-offs


def test_test_cases_after_the_cut_off_are_counted_apart(small: SourceData) -> None:
    undated = small.items["published"].mask(np.arange(30) == 29)
    data = replace(small, items=small.items.assign(published=undated))
    found = need(pair_of(with_cutoffs(data, tuned="2023-01-10")).by_cutoff)
    assert (found.cutoff, found.is_base_known) == ("2023-01-10", True)
    assert (found.before.n_items, found.after.n_items, found.undated.n_items) == (10, 19, 1)
    late = np.arange(10, 29)  # an article a day from the first of January on
    after = need(found.after.decisions)
    assert after.before.n_correct == right(small, BASE).loc[late].sum()
    assert after.after.n_correct == right(small, TUNED).loc[late].sum()
    page, _ = page_of(CHAPTER, results_of(with_cutoffs(data, tuned="2023-01-10"), CHAPTER))
    (table,) = [t for t in page.tables if "end of the training" in t.caption]
    assert [row[2] for row in table.rows] == ["10", "19", "1"]


@pytest.mark.parametrize(
    ("cutoffs", "last", "expected"),
    [
        ({"tuned": "2023-01-05", "base": "2023-01-03"}, None, ("2023-01-05", True)),
        # Whoever stated it, what the base or the corpus holds is among what was read
        ({"tuned": "2023-01-05", "base": "2023-01-08"}, None, ("2023-01-08", True)),
        ({"tuned": "2023-01-05"}, date(2023, 1, 9), ("2023-01-09", True)),
        ({"base": "2023-01-12"}, date(2023, 1, 9), ("2023-01-12", True)),
        ({}, date(2023, 1, 9), ("2023-01-09", False)),
    ],
)
def test_the_cut_off_is_the_latest_day_that_is_known(
    small: SourceData, cutoffs: dict[str, str], last: date | None, expected: tuple[str, bool]
) -> None:
    data = with_cutoffs(replace(small, trainings=trained(last)), **cutoffs)
    found = need(pair_of(data).by_cutoff)
    assert (found.cutoff, found.is_base_known) == expected
    _, text = page_of(CHAPTER, results_of(data, CHAPTER))
    assert ("until when its base had read is not known" in text) is not expected[1]


@pytest.mark.parametrize("cutoffs", [{}, {"base": "2023-01-12"}])
def test_without_knowing_what_the_tuning_read_nothing_is_said_of_cut_offs(
    small: SourceData, cutoffs: dict[str, str]
) -> None:
    data = with_cutoffs(small, **cutoffs)
    missing = pair_of(data).by_cutoff
    assert isinstance(missing, MissingResult)
    assert missing.reason in page_of(CHAPTER, results_of(data, CHAPTER))[1].replace("&#x27;", "'")


# Reference texts


def texts(data: SourceData, model: int) -> pd.DataFrame:
    own = data.corpora[(data.corpora["model"] == model) & ~data.corpora["is_anchor"]]
    return own.sort_values("row")


def test_reference_texts_are_set_against_the_bases_own_scores(small: SourceData) -> None:
    (found,) = need(pair_of(small).corpora)
    assert (found.corpus, found.n_texts) == ("reference", 20)  # the anchor is no reference
    before, after = (np.log(texts(small, m)["ppl"].to_numpy()) for m in (BASE, TUNED))
    change = need(found.change)
    expected = stats.ttest_rel(before, after)
    assert change.fall.t == pytest.approx(expected.statistic)
    assert (change.before.mean, change.after.mean) == pytest.approx((before.mean(), after.mean()))


def test_what_was_forgotten_is_a_rise_of_the_loss(small: SourceData) -> None:
    corpora = small.corpora.copy()
    own = corpora["model"] == TUNED
    corpora.loc[own, "ppl"] = 1.25 * texts(small, BASE)["ppl"].mean()
    data = replace(small, corpora=corpora)
    assert need(need(pair_of(data).corpora)[0].change).fall.mean_difference < 0
    assert "above its base" in page_of(CHAPTER, results_of(data, CHAPTER))[1]


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [("prompt", "paper", "different prompts"), ("zlib_bytes", 701.0, "differ")],
)
def test_texts_that_are_not_alike_are_not_compared(
    small: SourceData, column: str, value: object, reason: str
) -> None:
    corpora = small.corpora.copy()
    corpora.loc[corpora["model"] == TUNED, column] = value
    (found,) = need(pair_of(replace(small, corpora=corpora)).corpora)
    assert isinstance(found.change, MissingResult)
    assert reason in found.change.reason


def test_without_reference_texts_of_both_the_page_says_how_to_have_them(small: SourceData) -> None:
    data = replace(small, corpora=small.corpora[small.corpora["model"] != BASE])
    assert isinstance(pair_of(data).corpora, MissingResult)
    assert "score_corpus" in page_of(CHAPTER, results_of(data, CHAPTER))[1]


def test_tuning_gpt_2_lowered_its_loss_on_published_texts_of_the_field(
    published: SourceData,
) -> None:
    models = need(results_of(published, CHAPTER).of(FineTuning).finetuning)
    known = {m.name: m.corpora for m in models if not isinstance(m.corpora, MissingResult)}
    ((name, (corpus,)),) = known.items()
    assert (name, corpus.corpus, corpus.n_texts) == ("finetune_gpt2", "j_of_neuro", 1000)
    rows = published.corpora[published.corpora["corpus"] == "j_of_neuro"]
    before, after = (
        np.log(rows[published.models["name"].to_numpy()[rows["model"]] == model]["ppl"]).mean()
        for model in ("gpt2", "finetune_gpt2")
    )
    change = need(corpus.change)
    assert (change.before.mean, change.after.mean) == pytest.approx((before, after))


# Trainings


def test_a_model_that_was_trained_here_shows_corpus_size_and_held_out_loss(
    small: SourceData,
) -> None:
    data = replace(small, trainings=trained(None))
    page, _ = page_of(CHAPTER, results_of(data, CHAPTER))
    assert page.tables[-1].rows == (
        ("Model 3", "papers", "1,200", "340,000", "680,000", "4,096", "3.250", "2.500"),
    )
    unknown = replace(small, trainings=trained(None, held_out_before=None, documents=None))
    row = page_of(CHAPTER, results_of(unknown, CHAPTER))[0].tables[-1].rows[0]
    assert (row[2], row[6]) == (DASH, DASH)
