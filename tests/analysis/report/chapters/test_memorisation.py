"""The chapter on memorisation: published ratios, and texts that are missing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.codec import MissingResult, need
from analysis.data.dataset import SourceData
from analysis.report.chapters.memorisation.results import (
    Cutoffs,
    Memorisation,
    ModelDates,
    PublicationDate,
    Ratios,
    TextKind,
)
from analysis.report.contents import chapter_named
from analysis.stats.publication_date import DateDirection
from tests.analysis.report.chapters.chapter_results import page_of, results_of

MEMORISATION = chapter_named("memorisation")
PUBLICATION_DATE = chapter_named("publication_date")


EXACT = 1e-9
FIELDS = {"q25": "q1", "q75": "q3"}
SPREAD = ("n", "median", "mean", "sd", "min", "max", *FIELDS)
ITEMS = {TextKind.ORIGINAL: "brainbench_correct", TextKind.ALTERED: "brainbench_altered"}
LENGTHS = ["zlib_original_bytes", "zlib_altered_bytes"]


def ratios(data: SourceData) -> Ratios:
    return need(results_of(data, MEMORISATION).of(Memorisation).memorisation)


def test_ratios_of_every_published_source_are_those_published(
    published: SourceData, reference: dict[str, Any]
) -> None:
    models = {model.name: model for model in ratios(published).models}
    compared = 0
    for name, expected in reference["memorisation"].items():
        found = {
            ITEMS[s.kind] if s.kind.is_test_case else s.corpus: s for s in models[name].sources
        }
        for source, values in expected.items():
            if not isinstance(values, dict):
                continue
            ours = found[source]
            own = {theirs: getattr(ours.spread, FIELDS.get(theirs, theirs)) for theirs in SPREAD}
            own |= {"ppl_median": ours.ppl_median, "zlib_median": ours.zlib_median}
            own |= {"n_ratio_ge_gettysburg": ours.n_ge_anchor}
            own |= {"auc_brainbench_gt_source": ours.auc_items_gt_source}
            for key in own.keys() & values.keys():
                expected_value = (
                    None if values[key] is None else pytest.approx(values[key], rel=EXACT)
                )
                assert own[key] == expected_value, (name, source, key)
                compared += 1
    assert compared > 200


def test_models_without_lengths_or_corpora_do_not_hide_the_others(small: SourceData) -> None:
    full = small.full.copy()
    full.loc[small.full["model"] == 0, LENGTHS] = np.nan
    some = replace(small, full=full, corpora=small.corpora[small.corpora["model"] == 1])
    models = ratios(some).models
    assert [m.name for m in models] == ["org/model-1", "org/model-2", "org/model-3"]
    assert [len(m.sources) for m in models] == [4, 2, 2]
    assert models[1].sources[0].n_ge_anchor is None

    full[LENGTHS] = np.nan
    references = replace(some, full=full)
    assert [s.auc_items_gt_source for s in ratios(references).models[0].sources] == [None, None]
    nothing = results_of(replace(references, corpora=small.corpora.iloc[:0]), MEMORISATION)
    missing = nothing.of(Memorisation).memorisation
    assert isinstance(missing, MissingResult)
    assert "compressed lengths" in missing.reason


# Before and after the end of the training data


def split(data: SourceData) -> Cutoffs:
    return need(results_of(data, MEMORISATION).of(Memorisation).cutoffs)


def test_published_models_met_only_what_came_after_their_cut_off_where_it_is_known(
    published: SourceData,
) -> None:
    found = {model.name: model for model in split(published).models}
    assert len(found) == 15
    dates = published.items["published"]
    llama = found["meta-llama/Llama-2-70b-hf"]
    assert (llama.cutoff, llama.released) == ("2022-09-30", "2023-07-31")
    assert llama.before is None
    assert dates.min().isoformat() > "2022-09-30"
    assert llama.after is not None
    assert llama.after.items.n == dates.notna().sum()
    assert llama.after.items.n + llama.n_undated == 200
    mistral = found["mistralai/Mistral-7B-v0.1"]
    assert (mistral.cutoff, mistral.before, mistral.after) == (None, None, None)


def test_shares_before_and_after_are_those_of_the_items_of_these_days(small: SourceData) -> None:
    days = small.items["published"].to_numpy()
    middle = np.sort(days)[9].astype("datetime64[D]")
    cutoff = np.array([middle, "NaT", "NaT", "NaT"], dtype="datetime64[D]")
    dated = small.items.assign(published=np.where(np.arange(30) == 29, np.datetime64("NaT"), days))
    found = split(replace(small, items=dated, models=small.models.assign(cutoff=cutoff)))
    own = found.models[0]
    assert own.before is not None
    assert own.after is not None
    assert (own.before.items.n, own.after.items.n, own.n_undated) == (10, 19, 1)
    rows = small.full[small.full["model"] == 0].set_index("item")
    early = rows.loc[np.flatnonzero(days <= middle)]
    assert own.before.items.n_correct == early["points"].sum()
    ratio = early["zlib_original_bytes"] / early["ppl_original"]
    assert own.before.ratio_median == pytest.approx(ratio.median())
    assert len(found.known) == 1


def test_a_model_scored_only_where_dates_are_missing_met_nothing_from_before(
    small: SourceData,
) -> None:
    days, is_undated = small.items["published"].to_numpy(), np.arange(30) >= 20
    last = days.astype("datetime64[D]").max()
    cutoff = np.array([last, last, "NaT", "NaT"], dtype="datetime64[D]")
    dated = small.items.assign(published=np.where(is_undated, np.datetime64("NaT"), days))
    full = small.full[(small.full["model"] != 1) | is_undated[small.full["item"]]]
    data = replace(small, items=dated, models=small.models.assign(cutoff=cutoff), full=full)
    page, _words = page_of(MEMORISATION, results_of(data, MEMORISATION))
    assert page.context["cutoffs"] == {"n_known": 2, "n_unknown": 1, "n_none_before": 1}


# --- The chapter on publication dates: published correlations, and dates or scores that are missing.


def models_of(data: SourceData) -> tuple[ModelDates, ...]:
    return need(results_of(data, PUBLICATION_DATE).of(PublicationDate).publication_date)


def test_the_published_models_are_one_family_and_show_no_clear_direction(
    published: SourceData,
) -> None:
    found = results_of(published, PUBLICATION_DATE).of(PublicationDate)
    together, people = need(found.publication_date_tests), need(found.publication_date_people)
    assert together.n_tests == 15
    # Difficulties of the models correlate at .75 on average, as the published matrix says
    assert together.mean_correlation == pytest.approx(0.75, abs=0.05)
    assert 1 < together.n_effective < 8
    assert together.n_clear == 0
    assert {model.direction for model in models_of(published)} == {DateDirection.UNCLEAR}
    assert people.direction is DateDirection.UNCLEAR
    # Years, so that the slope of the audit's check with statsmodels is met
    assert people.slope.slope == pytest.approx(0.0636, abs=1e-4)
