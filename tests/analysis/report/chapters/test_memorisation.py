"""The chapter on memorisation: published ratios, and texts that are missing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.codec import MissingResult, need
from analysis.data.dataset import SourceData
from analysis.report.chapter import Built
from analysis.report.chapters.memorisation.results import (
    Cutoffs,
    Memorisation,
    ModelDates,
    PublicationDate,
    Ratios,
    TextKind,
)
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from analysis.stats.publication_date import DateDirection
from tests.analysis.report.chapters.chapter_results import figure_of, page_of, results_of

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


def test_the_anchor_is_named_and_stands_alone(published: SourceData) -> None:
    found = ratios(published)
    assert found.anchor_corpus == "gettysburg_address"
    llama = next(model for model in found.models if model.display_name == "Llama-2-70B")
    anchor = llama.of(TextKind.ANCHOR)
    assert anchor is not None
    assert anchor.spread.median == pytest.approx(639.9544349899537, rel=EXACT)
    assert (anchor.spread.n, anchor.spread.sd, anchor.n_ge_anchor) == (1, None, None)


def test_ratios_stand_in_the_table_text_by_text(small: SourceData) -> None:
    table = MEMORISATION.build(small).tables["memorisation_ratios"]
    mine = table[(table["name"] == "org/model-2") & (table["kind"] == TextKind.ALTERED)]
    full = small.full[small.full["model"] == 2]
    np.testing.assert_allclose(mine["ratio"], full["zlib_altered_bytes"] / full["ppl_altered"])
    altered = ratios(small).models[2].of(TextKind.ALTERED)
    assert altered is not None
    assert altered.spread.median == pytest.approx(mine["ratio"].median())


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
    assert "no test case" in page_of(MEMORISATION, results_of(references, MEMORISATION))[1]
    assert "test case" not in figure_of(MEMORISATION, MEMORISATION.build(references)).caption
    nothing = results_of(replace(references, corpora=small.corpora.iloc[:0]), MEMORISATION)
    missing = nothing.of(Memorisation).memorisation
    assert isinstance(missing, MissingResult)
    assert "compressed lengths" in missing.reason


def test_a_figure_names_the_diamond_and_what_it_leaves_out_only_where_they_are(
    small: SourceData,
) -> None:
    found = ratios(small)
    assert "diamond" in figure_of(MEMORISATION, MEMORISATION.build(small)).caption
    reader = found.models[0]
    items = tuple(s for s in reader.sources if s.kind.is_test_case)
    alone = [replace(reader, name=str(n), display_name=str(n), sources=items) for n in range(13)]
    read_more = replace(
        reader, sources=tuple(s for s in reader.sources if s.kind != TextKind.ANCHOR)
    )

    def caption(*models: Any) -> str:
        changed = Memorisation(replace(found, models=tuple(models)), MissingResult("", ""))
        return figure_of(MEMORISATION, Built(changed)).caption

    assert "diamond" not in caption(*alone)
    assert "Only the original test cases are drawn" in caption(*alone)
    assert "only the original test cases of the other 12." in caption(read_more, *alone[:12])


def test_the_page_counts_models_with_a_test_case_as_familiar_as_the_anchor(
    small: SourceData,
) -> None:
    assert (
        "none has an original test case"
        in page_of(MEMORISATION, results_of(small, MEMORISATION))[1]
    )
    high = small.full["zlib_original_bytes"].where(small.full["model"] > 0, 1e6)
    one = replace(small, full=small.full.assign(zlib_original_bytes=high))
    assert "1 has an original test case" in page_of(MEMORISATION, results_of(one, MEMORISATION))[1]


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
    page, text = page_of(MEMORISATION, results_of(published, MEMORISATION))
    assert "Of 2 models it is not known" in text
    assert len(page.tables[1].rows) == 15


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
    assert own.before.items.n_correct == early["is_correct"].sum()
    ratio = early["zlib_original_bytes"] / early["ppl_original"]
    assert own.before.ratio_median == pytest.approx(ratio.median())
    assert len(found.known) == 1


def test_without_any_known_cut_off_the_chapter_says_where_to_state_it(small: SourceData) -> None:
    results = results_of(small, MEMORISATION)
    missing = results.of(Memorisation).cutoffs
    assert isinstance(missing, MissingResult)
    assert "administration" in missing.needed
    assert len(page_of(MEMORISATION, results)[0].tables) == 1


def test_a_corpus_row_says_whether_it_is_in_the_training_data(published: SourceData) -> None:
    models = {model.name: model for model in ratios(published).models}
    galactica, falcon = models["facebook/galactica-120b"], models["tiiuae/falcon-180B"]
    known = {s.corpus: s.in_training for s in galactica.sources if not s.kind.is_test_case}
    assert known["arxiv_abstracts_20210601_20211231"] == "known"
    assert known["biorxiv_abstracts_2023-06-01_2023-12-01"] == "absent"
    assert known["gettysburg_address"] == "likely"
    assert {s.corpus: s.in_training for s in falcon.sources}["refinedweb"] == "known"


# --- The chapter on publication dates: published correlations, and dates or scores that are missing.


def models_of(data: SourceData) -> tuple[ModelDates, ...]:
    return need(results_of(data, PUBLICATION_DATE).of(PublicationDate).publication_date)


def test_correlations_with_publication_dates_are_those_published(
    published: SourceData, reference: dict[str, Any]
) -> None:
    models, expected = models_of(published), reference["pubdate_spearman"]
    assert [model.name for model in models] == list(expected["llm"])
    for model in models:
        known = model.known
        assert known is not None
        own = expected["llm"][model.name]
        assert (known.rho, known.p) == pytest.approx((own["rho"], own["p"]), rel=1e-9)
        assert (known.n, known.n_unique_dates) == (expected["n"], expected["n_unique_dates"])


def test_studies_without_dates_say_so(small: SourceData) -> None:
    undated = small.items.assign(published=pd.Series(dtype="datetime64[ns]"))
    with pytest.raises(NotEnough, match="publication date"):
        PUBLICATION_DATE.build(replace(small, items=undated))


def test_a_model_with_too_few_scores_does_not_hide_the_others(small: SourceData) -> None:
    few = replace(small, full=small.full[(small.full["model"] != 1) | (small.full["item"] == 0)])
    models = models_of(few)
    assert [isinstance(m.correlation, MissingResult) for m in models] == [False, True, False]
    figure = figure_of(PUBLICATION_DATE, PUBLICATION_DATE.build(few))
    assert figure.table["name"].tolist() == ["org/model-0", "org/model-2"]
    page, text = page_of(PUBLICATION_DATE, results_of(few, PUBLICATION_DATE))
    assert len(page.tables[0].rows) == 2
    assert "in 2 models" in text


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
    text = page_of(PUBLICATION_DATE, results_of(published, PUBLICATION_DATE))[1]
    assert "no clear direction" in text


def test_a_drift_with_the_date_is_named_for_models_and_people(small: SourceData) -> None:
    days = small.items["published"].rank().to_numpy()
    full = small.full.assign(ppl_altered=small.full["ppl_original"] - days[small.full["item"]])
    late = days[small.trials["item"]] > days.mean()
    noise = small.trials.index.to_numpy() % 5 == 0
    data = replace(small, full=full, trials=small.trials.assign(is_correct=late ^ noise))
    found = results_of(data, PUBLICATION_DATE).of(PublicationDate)
    assert {m.direction for m in models_of(data)} == {DateDirection.NEWER_HARDER}
    assert need(found.publication_date_people).direction is DateDirection.NEWER_EASIER
    text = page_of(PUBLICATION_DATE, results_of(data, PUBLICATION_DATE))[1]
    assert "Newer is harder for 3 models" in text
    assert "For people, newer is easier" in text


def test_people_keep_their_dates_where_no_model_has_scored(small: SourceData) -> None:
    found = results_of(replace(small, full=small.full.iloc[:0]), PUBLICATION_DATE).of(
        PublicationDate
    )
    assert isinstance(found.publication_date, MissingResult)
    assert need(found.publication_date_people).slope.n == len(small.trials)
