"""The chapter on memorisation: published ratios, and texts that are missing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.codec import need
from analysis.data.dataset import SourceData
from analysis.report.chapter import Built
from analysis.report.chapters.memorisation import CHAPTER
from analysis.report.chapters.memorisation.results import Memorisation, Ratios, TextKind
from analysis.stats import NotEnough
from tests.analysis.report.chapters.chapter_results import figure_of, page_of, results_of

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
    with pytest.raises(NotEnough, match="compressed lengths"):
        CHAPTER.build(replace(references, corpora=small.corpora.iloc[:0]))


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
        changed = Memorisation(replace(found, models=tuple(models)))
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
