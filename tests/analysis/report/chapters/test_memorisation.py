"""The chapter on memorisation: published ratios, and texts that are missing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.codec import MissingResult, need
from analysis.data.dataset import SourceData
from analysis.report.chapter import Built
from analysis.report.chapters.memorisation.results import Cutoffs, Memorisation, Ratios, TextKind
from analysis.report.contents import chapter_named
from tests.analysis.report.chapters.chapter_results import figure_of, page_of, results_of

CHAPTER = chapter_named("memorisation")

EXACT = 1e-9
FIELDS = {"q25": "q1", "q75": "q3"}
SPREAD = ("n", "median", "mean", "sd", "min", "max", *FIELDS)
ITEMS = {TextKind.ORIGINAL: "brainbench_correct", TextKind.ALTERED: "brainbench_altered"}
LENGTHS = ["zlib_original_bytes", "zlib_altered_bytes"]


def ratios(data: SourceData) -> Ratios:
    return need(results_of(data, CHAPTER).of(Memorisation).memorisation)


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
    table = CHAPTER.build(small).tables["memorisation_ratios"]
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
    assert "no test case" in page_of(CHAPTER, results_of(references, CHAPTER))[1]
    assert "test case" not in figure_of(CHAPTER, CHAPTER.build(references)).caption
    nothing = results_of(replace(references, corpora=small.corpora.iloc[:0]), CHAPTER)
    missing = nothing.of(Memorisation).memorisation
    assert isinstance(missing, MissingResult)
    assert "compressed lengths" in missing.reason


def test_a_figure_names_the_diamond_and_what_it_leaves_out_only_where_they_are(
    small: SourceData,
) -> None:
    found = ratios(small)
    assert "diamond" in figure_of(CHAPTER, CHAPTER.build(small)).caption
    reader = found.models[0]
    items = tuple(s for s in reader.sources if s.kind.is_test_case)
    alone = [replace(reader, name=str(n), display_name=str(n), sources=items) for n in range(13)]
    read_more = replace(
        reader, sources=tuple(s for s in reader.sources if s.kind != TextKind.ANCHOR)
    )

    def caption(*models: Any) -> str:
        changed = Memorisation(replace(found, models=tuple(models)), MissingResult("", ""))
        return figure_of(CHAPTER, Built(changed)).caption

    assert "diamond" not in caption(*alone)
    assert "Only the original test cases are drawn" in caption(*alone)
    assert "only the original test cases of the other 12." in caption(read_more, *alone[:12])


def test_the_page_counts_models_with_a_test_case_as_familiar_as_the_anchor(
    small: SourceData,
) -> None:
    assert "none has an original test case" in page_of(CHAPTER, results_of(small, CHAPTER))[1]
    high = small.full["zlib_original_bytes"].where(small.full["model"] > 0, 1e6)
    one = replace(small, full=small.full.assign(zlib_original_bytes=high))
    assert "1 has an original test case" in page_of(CHAPTER, results_of(one, CHAPTER))[1]


# Before and after the end of the training data


def split(data: SourceData) -> Cutoffs:
    return need(results_of(data, CHAPTER).of(Memorisation).cutoffs)


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
    page, text = page_of(CHAPTER, results_of(published, CHAPTER))
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
    results = results_of(small, CHAPTER)
    missing = results.of(Memorisation).cutoffs
    assert isinstance(missing, MissingResult)
    assert "administration" in missing.needed
    assert len(page_of(CHAPTER, results)[0].tables) == 1


def test_a_corpus_row_says_whether_it_is_in_the_training_data(published: SourceData) -> None:
    models = {model.name: model for model in ratios(published).models}
    galactica, falcon = models["facebook/galactica-120b"], models["tiiuae/falcon-180B"]
    known = {s.corpus: s.in_training for s in galactica.sources if not s.kind.is_test_case}
    assert known["arxiv_abstracts_20210601_20211231"] == "known"
    assert known["biorxiv_abstracts_2023-06-01_2023-12-01"] == "absent"
    assert known["gettysburg_address"] == "likely"
    assert {s.corpus: s.in_training for s in falcon.sources}["refinedweb"] == "known"
