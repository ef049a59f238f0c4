"""The chapter on fine-tuning: published comparisons, and pairs of models that are not whole."""

from dataclasses import asdict, replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from analysis.codec import MissingResult, need
from analysis.data.dataset import SourceData, TrainingSummary
from analysis.report.chapters.finetuning.results import Comparison, FineTuning, TunedModel
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from lib.formatting import DASH, number
from tests.analysis.report.chapters.chapter_results import figure_of, page_of, results_of

FINETUNING = chapter_named("finetuning")


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


# Right answers of 200, before and after
PUBLISHED_PAIRS = {
    "finetune_gpt2": (115, 127),
    "finetune_llama2_chat_7b": (158, 164),
    "lora_r16_a32_finetune_mistral_7b_v01": (166, 166),
    "lora_r32_a64_finetune_mistral_7b_v01": (166, 167),
    "lora_r256_a512_finetune_mistral_7b_v01": (166, 172),
    "full_finetune_mistral_7b_v01": (166, 171),
    "lora_r256_a512_finetune_phi3_mini_4k_instruct": (165, 163),
}
PUBLISHED_FROM_SCRATCH = {
    "gpt2_scratch_neuro_tokenizer": 125,
    "gpt2-medium_scratch_neuro_tokenizer": 127,
    "gpt2-large_scratch_neuro_tokenizer": 144,
}


def models_of(data: SourceData) -> tuple[TunedModel, ...]:
    return need(results_of(data, FINETUNING).of(FineTuning).finetuning)


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


def test_the_published_pairs_are_all_there_with_the_published_accuracies(
    published: SourceData,
) -> None:
    models = {model.name: need(model.comparison) for model in models_of(published)}
    found = {name: (own.before.n_correct, own.after.n_correct) for name, own in models.items()}
    assert found == PUBLISHED_PAIRS
    assert {own.after.n for own in models.values()} == {200}
    right = dict(
        zip(published.models["name"], np.nansum(published.model_correct, axis=1), strict=True)
    )
    assert {name: right[name] for name in PUBLISHED_FROM_SCRATCH} == PUBLISHED_FROM_SCRATCH
    paper = models["lora_r256_a512_finetune_mistral_7b_v01"].ppl_correct.test
    assert (round(paper.t, 1), paper.df, round(paper.d_av, 2)) == (15.7, 199, 0.25)


def test_p_values_of_the_published_pairs_are_corrected_as_two_families(
    published: SourceData,
) -> None:
    own = results_of(published, FINETUNING).of(FineTuning)
    models, tests = need(own.finetuning), need(own.finetuning_tests)
    compared = [need(model.comparison) for model in models]
    for p, corrected, family in (
        ([c.mcnemar.p for c in compared], [m.mcnemar_holm_p for m in models], tests.decisions),
        (
            [c.nats.interaction.p for c in compared],
            [m.interaction_holm_p for m in models],
            need(tests.interaction),
        ),
    ):
        expected = multipletests(p, method="holm")[1]
        assert corrected == pytest.approx(expected)
        assert (family.n_tests, family.n_clear) == (7, int((expected < 0.05).sum()))


def test_log_perplexities_of_a_published_pair_are_those_of_the_files(published: SourceData) -> None:
    (model,) = [m for m in models_of(published) if m.name == "finetune_llama2_chat_7b"]
    tables = {
        name: published.full[published.full["model"] == number].sort_values("item")
        for number, name in enumerate(published.models["name"])
    }
    base, tuned = tables[model.base], tables[model.name]
    original, altered = (
        np.log(base[column].to_numpy()) - np.log(tuned[column].to_numpy())
        for column in ("ppl_original", "ppl_altered")
    )
    found = need(model.comparison)
    expected = stats.ttest_1samp(original - altered, 0)
    assert found.nats.interaction.t == pytest.approx(expected.statistic)
    assert found.nats.original.mean_difference == pytest.approx(original.mean())
    assert found.ppl_altered.after_mean == pytest.approx(tuned["ppl_altered"].mean())


def test_more_pairs_than_have_sentences_are_summed_up(published: SourceData) -> None:
    page, text = page_of(FINETUNING, results_of(published, FINETUNING))
    assert page.context["summary"] == {
        "n": 7,
        "n_better": 5,
        "n_worse": 1,
        "n_with_one_prompt": 7,
        "n_fell": 6,
        "n_original": 3,
        "n_altered": 1,
    }
    assert "0 of 7 are clear" in text
    assert [len(table.rows) for table in page.tables] == [7, 7, 7, 1, 6, 35]


def test_models_are_compared_on_the_items_that_both_have_in_any_order(small: SourceData) -> None:
    shuffled = small.full.sample(frac=1, random_state=0)
    assert models_of(replace(small, full=shuffled)) == models_of(small)
    fewer = small.full[(small.full["model"] != 0) | (small.full["item"] < 10)]
    data = replace(small, full=fewer)
    assert models_of(data)[0].n_items == 10
    assert len(FINETUNING.build(data).tables["finetuning_items"]) == 10


def test_the_figure_names_a_tuned_model_beside_its_base(small: SourceData) -> None:
    figure = figure_of(FINETUNING, FINETUNING.build(small))
    assert figure.caption.startswith("n = 1 tuned model on 30 test cases")
    (model,) = models_of(small)
    assert isinstance(model.comparison, Comparison)
    row = figure.table.iloc[0]
    assert (row["name"], row["base"]) == ("org/model-3", "org/model-0")
    assert row["mcnemar_gained"] == model.comparison.mcnemar.gained
    assert row["ppl_t"] == model.comparison.ppl_correct.test.t


def test_the_figure_of_versions_has_both_and_their_difference(small: SourceData) -> None:
    figure = figure_of(FINETUNING, FINETUNING.build(small), "finetuning_versions")
    nats = need(models_of(small)[0].comparison).nats
    rows = figure.table.set_index("what")
    for what, test in (
        ("original", nats.original),
        ("altered", nats.altered),
        ("difference", nats.interaction),
    ):
        row = rows.loc[what]
        found = (row["nats_per_token"], row["ci_low"], row["ci_high"])
        assert found == (test.mean_difference, *test.ci95)
    assert f"difference {number(nats.interaction.mean_difference, 4)}" in figure.alt


def test_models_given_different_prompts_are_named(small: SourceData) -> None:
    alike = replace(small, run_prompts={0: "paper", 3: "paper"})
    assert "different prompts" not in page_of(FINETUNING, results_of(alike, FINETUNING))[1]
    other = replace(small, run_prompts={0: "paper", 3: "none"})
    assert models_of(other)[0].prompts == ("paper", "none")
    assert np.isnan(models_of(other)[0].interaction_holm_p)  # and are in no test of perplexities
    assert (
        "different prompts (paper, none)" in page_of(FINETUNING, results_of(other, FINETUNING))[1]
    )


def test_perplexities_under_different_prompts_are_neither_told_nor_tested(
    small: SourceData, published: SourceData
) -> None:
    other = replace(small, run_prompts={0: "paper", 3: "none"})
    own = results_of(other, FINETUNING).of(FineTuning)
    (model,), tests = need(own.finetuning), need(own.finetuning_tests)
    assert np.isfinite(model.mcnemar_holm_p)
    assert np.isnan(model.interaction_holm_p)
    assert tests.decisions.n_tests == 1
    assert isinstance(tests.interaction, MissingResult)
    page, text = page_of(FINETUNING, results_of(other, FINETUNING))
    assert "gained" in text
    assert "erplexity of original texts" not in text
    assert "nats per token on original texts" not in text
    captions = [table.caption for table in page.tables]
    assert "Before and after fine-tuning" in captions
    assert not [caption for caption in captions if "erplexity" in caption and "Ref" not in caption]
    built = FINETUNING.build(other)
    assert figure_of(FINETUNING, built).table.iloc[0].filter(like="ppl_").isna().all()
    with pytest.raises(NotEnough, match="one prompt"):
        figure_of(FINETUNING, built, "finetuning_versions")

    fell = list(published.models["name"]).index("lora_r256_a512_finetune_mistral_7b_v01")
    full = published.full.assign(run=published.full["model"])
    mixed = replace(published, full=full, run_prompts={fell: "none"})
    own = results_of(mixed, FINETUNING).of(FineTuning)
    tests = need(own.finetuning_tests)
    assert (tests.decisions.n_tests, need(tests.interaction).n_tests) == (7, 6)
    summary = page_of(FINETUNING, results_of(mixed, FINETUNING))[0].context["summary"]
    assert (summary["n"], summary["n_with_one_prompt"], summary["n_fell"]) == (7, 6, 5)


def test_a_version_that_clearly_gained_more_is_named(small: SourceData) -> None:
    base = small.full[small.full["model"] == 0].sort_values("item")
    for column, words in (
        ("ppl_original", "tells the two apart"),
        ("ppl_altered", "does not help"),
    ):
        full = small.full.sort_values(["model", "item"]).reset_index(drop=True)
        own = full["model"] == 3
        for version in ("ppl_original", "ppl_altered"):
            factor = np.linspace(0.5, 0.7, 30) if version == column else np.full(30, 0.9)
            full.loc[own, version] = base[version].to_numpy() * factor
        _, text = page_of(FINETUNING, results_of(replace(small, full=full), FINETUNING))
        assert words in text


def test_a_single_common_item_gives_a_reason_and_no_pair_is_refused(small: SourceData) -> None:
    one = replace(small, full=small.full[(small.full["model"] != 0) | (small.full["item"] == 3)])
    (model,) = models_of(one)
    assert model.n_items == 1
    assert isinstance(model.comparison, MissingResult)
    assert isinstance(results_of(one, FINETUNING).of(FineTuning).finetuning_tests, MissingResult)
    page, text = page_of(FINETUNING, results_of(one, FINETUNING))
    assert len(page.tables[0].rows) == 1
    assert "gained" not in text
    with pytest.raises(NotEnough, match="shares enough"):
        figure_of(FINETUNING, FINETUNING.build(one))
    with pytest.raises(NotEnough, match="tuned from"):
        FINETUNING.build(replace(small, full=small.full[small.full["model"] != 0]))


# --- The chapter on fine-tuning: subfields, cut-offs, reference texts and trainings of a pair.


BASE, TUNED = 0, 3  # of `small`


def pair_of(data: SourceData) -> TunedModel:
    (model,) = need(results_of(data, FINETUNING).of(FineTuning).finetuning)
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
    page, _ = page_of(FINETUNING, results_of(data, FINETUNING))
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
    page, _ = page_of(FINETUNING, results_of(with_cutoffs(data, tuned="2023-01-10"), FINETUNING))
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
    _, text = page_of(FINETUNING, results_of(data, FINETUNING))
    assert ("until when its base had read is not known" in text) is not expected[1]


@pytest.mark.parametrize("cutoffs", [{}, {"base": "2023-01-12"}])
def test_without_knowing_what_the_tuning_read_nothing_is_said_of_cut_offs(
    small: SourceData, cutoffs: dict[str, str]
) -> None:
    data = with_cutoffs(small, **cutoffs)
    missing = pair_of(data).by_cutoff
    assert isinstance(missing, MissingResult)
    assert missing.reason in page_of(FINETUNING, results_of(data, FINETUNING))[1].replace(
        "&#x27;", "'"
    )


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
    assert "above its base" in page_of(FINETUNING, results_of(data, FINETUNING))[1]


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
    assert "score_corpus" in page_of(FINETUNING, results_of(data, FINETUNING))[1]


def test_tuning_gpt_2_lowered_its_loss_on_published_texts_of_the_field(
    published: SourceData,
) -> None:
    models = need(results_of(published, FINETUNING).of(FineTuning).finetuning)
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
    page, _ = page_of(FINETUNING, results_of(data, FINETUNING))
    assert page.tables[-1].rows == (
        ("Model 3", "papers", "1,200", "340,000", "680,000", "4,096", "3.250", "2.500"),
    )
    unknown = replace(small, trainings=trained(None, held_out_before=None, documents=None))
    row = page_of(FINETUNING, results_of(unknown, FINETUNING))[0].tables[-1].rows[0]
    assert (row[2], row[6]) == (DASH, DASH)
