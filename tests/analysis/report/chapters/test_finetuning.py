"""The chapter on fine-tuning: published comparisons, and pairs of models that are not whole."""

import re
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from analysis.codec import MissingResult, need
from analysis.data.dataset import SourceData, TrainingSummary
from analysis.report.chapter import SourceResults
from analysis.report.chapters.finetuning.results import (
    FINETUNING_METHOD,
    Families,
    FineTuning,
    TunedModel,
)
from analysis.report.chapters.finetuning.words import finetuning_figure, versions_figure
from analysis.report.contents import chapter_named
from analysis.report.families import family_sentences
from analysis.stats import NotEnough
from analysis.stats.families import Family
from analysis.stats.verdicts import Verdict
from lib.formatting import number, percent
from tests.analysis.report.chapters.chapter_results import figure_of, page_of, results_of

FINETUNING = chapter_named("finetuning")


def models_of(data: SourceData) -> tuple[TunedModel, ...]:
    return need(results_of(data, FINETUNING).of(FineTuning).finetuning)


def text_of(source: SourceResults) -> list[str]:
    return [paragraph.text for paragraph in page_of(FINETUNING, source)[0].text]


def test_p_values_of_the_published_pairs_are_corrected_as_one_family_of_both_questions(
    published: SourceData,
) -> None:
    own = results_of(published, FINETUNING).of(FineTuning)
    models, tests = need(own.finetuning), need(own.finetuning_tests)
    compared = [need(model.comparison) for model in models]
    p = [c.mcnemar.p for c in compared] + [c.nats.interaction.p for c in compared]
    # Questions with as many tests as each other: all tests have equal parts
    expected = multipletests(p, method="holm")[1]
    assert [m.mcnemar_holm_p for m in models] == pytest.approx(expected[:7])
    assert [m.interaction_holm_p for m in models] == pytest.approx(expected[7:])
    for family, own_p in ((tests.decisions, expected[:7]), (need(tests.interaction), expected[7:])):
        n_clear = int((own_p < 0.05).sum())
        assert (family.n_tests, family.n_others, family.n_clear) == (7, 7, n_clear)


def test_accuracies_are_after_minus_before_and_perplexities_before_minus_after(
    published: SourceData,
) -> None:
    for model in models_of(published):
        own = need(model.comparison)
        after, before = own.after.accuracy, own.before.accuracy
        assert own.mcnemar.difference == pytest.approx(after - before)
        fall = own.ppl_correct.before_mean - own.ppl_correct.after_mean
        assert own.ppl_correct.test.mean_difference == pytest.approx(fall)
    assert "differences of accuracy are after minus before" in FINETUNING_METHOD
    assert "before minus after, so that a decrease is positive" in FINETUNING_METHOD


def test_models_are_compared_on_the_items_that_both_have_in_any_order(small: SourceData) -> None:
    shuffled = small.full.sample(frac=1, random_state=0)
    assert models_of(replace(small, full=shuffled)) == models_of(small)
    fewer = small.full[(small.full["model"] != 0) | (small.full["item"] < 10)]
    data = replace(small, full=fewer)
    assert models_of(data)[0].n_items == 10
    assert len(FINETUNING.build(data).tables["finetuning_items"]) == 10


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
    page, _ = page_of(FINETUNING, results_of(other, FINETUNING))
    captions = [table.caption for table in page.tables]
    assert not [caption for caption in captions if "erplexity" in caption and "Ref" not in caption]
    built = FINETUNING.build(other)
    assert figure_of(FINETUNING, built).table.iloc[0].filter(like="ppl_").isna().all()
    with pytest.raises(NotEnough, match="same prompt"):
        figure_of(FINETUNING, built, "finetuning_versions")

    fell = list(published.models["name"]).index("lora_r256_a512_finetune_mistral_7b_v01")
    full = published.full.assign(run=published.full["model"])
    mixed = replace(published, full=full, run_prompts={fell: "none"})
    own = results_of(mixed, FINETUNING).of(FineTuning)
    tests = need(own.finetuning_tests)
    assert (tests.decisions.n_tests, need(tests.interaction).n_tests) == (7, 6)
    changed, texts, prompts, *_rest = text_of(results_of(mixed, FINETUNING))
    assert changed.startswith("Of 7 models that were tuned, ")
    assert texts.startswith("The log perplexity of original texts fell in 5 of 6 models.")
    assert prompts.endswith(
        "received different prompts (, none), so their perplexities cannot be compared."
    )


def test_a_single_common_item_gives_a_reason_and_no_pair_is_refused(small: SourceData) -> None:
    one = replace(small, full=small.full[(small.full["model"] != 0) | (small.full["item"] == 3)])
    (model,) = models_of(one)
    assert model.n_items == 1
    assert isinstance(model.comparison, MissingResult)
    assert isinstance(results_of(one, FINETUNING).of(FineTuning).finetuning_tests, MissingResult)
    with pytest.raises(NotEnough, match="shares enough"):
        figure_of(FINETUNING, FINETUNING.build(one))
    with pytest.raises(NotEnough, match="base model"):
        FINETUNING.build(replace(small, full=small.full[small.full["model"] != 0]))


# --- The chapter on fine-tuning: subfields, cut-offs, reference texts and trainings of a pair.


BASE, TUNED = 0, 3  # of `small`


def pair_of(data: SourceData) -> TunedModel:
    (model,) = need(results_of(data, FINETUNING).of(FineTuning).finetuning)
    return model


def right(data: SourceData, model: int) -> "pd.Series[float]":
    return data.full[data.full["model"] == model].set_index("item")["points"].sort_index()


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


def test_without_knowing_what_the_tuning_read_nothing_is_said_of_cut_offs(
    small: SourceData,
) -> None:
    for cutoffs in ({}, {"base": "2023-01-12"}):
        assert isinstance(pair_of(with_cutoffs(small, **cutoffs)).by_cutoff, MissingResult)


@pytest.mark.parametrize(
    ("verdict", "accuracy", "texts"),
    [
        (Verdict.ABOVE, "", "on the originals than on the altered versions"),
        (Verdict.BELOW, "", "on the altered versions than on the originals"),
        (Verdict.UNCLEAR, "do not show a change of accuracy", "do not show that either version"),
        (Verdict.TOO_FEW, "whether accuracy changed", "whether either version gained more"),
    ],
)
def test_sentences_on_a_tuned_model_follow_its_verdicts(
    small: SourceData, verdict: Verdict, accuracy: str, texts: str
) -> None:
    model = pair_of(small)
    assert model.accuracy_verdict is not None
    changed = replace(model, accuracy_verdict=verdict, interaction_verdict=verdict)
    text = " ".join(text_of(of_models(changed)))
    said = ("do not show a change of accuracy", "whether accuracy changed")
    assert [words for words in said if words in text] == [accuracy] * bool(accuracy)
    assert texts in text


# --- Its words.


def of_models(*models: TunedModel, n_clear: int = 0) -> SourceResults:
    """As if each were a model of its own; with more than three, so many of their tests are clear."""
    decisions = Family(len(models), 1.5, 0.25, n_clear, 0.01, n_others=2)
    tests = Families(decisions, MissingResult("", ""))
    return SourceResults("human", {FineTuning: FineTuning(models, tests)})


def test_accuracies_that_are_printed_alike_did_not_change(small: SourceData) -> None:
    model = pair_of(small)
    found = need(model.comparison)
    assert "(accuracy from " in text_of(of_models(model))[0]
    same = replace(model, comparison=replace(found, after=found.before))
    share = percent(found.before.accuracy)
    assert f"(accuracy {share} before and after; exact McNemar p" in text_of(of_models(same))[0]


@pytest.mark.parametrize(("difference", "changed"), [(0.5, "fell"), (0.0, "fell"), (-0.5, "rose")])
def test_the_perplexity_of_originals_fell_or_rose(
    small: SourceData, difference: float, changed: str
) -> None:
    model = pair_of(small)
    found = need(model.comparison)
    low, high = difference - 1, difference + 2
    test = replace(found.ppl_correct.test, mean_difference=difference, ci95=(low, high))
    other = replace(found, ppl_correct=replace(found.ppl_correct, test=test))
    text = text_of(of_models(replace(model, comparison=other)))[0]
    ends = (low, high) if changed == "fell" else (-high, -low)
    interval = " to ".join(number(end, 3) for end in ends)
    assert f"original texts {changed} by {abs(difference):.3f} (95% CI {interval})" in text


@pytest.mark.parametrize("n_clear", [0, 1, 2])
def test_many_models_are_said_together(small: SourceData, n_clear: int) -> None:
    model = pair_of(small)
    found = need(model.comparison)
    # The second gains two halves and loses one whole
    pairs = ((0.1, Verdict.ABOVE), (0.0, Verdict.UNCLEAR), (-0.1, Verdict.BELOW), (-0.2, None))
    models = [
        replace(
            model,
            comparison=replace(
                found,
                mcnemar=replace(found.mcnemar, gained=2, lost=1, difference=difference),
            ),
            interaction_verdict=verdict,
        )
        for difference, verdict in pairs
    ]
    page, _ = page_of(FINETUNING, of_models(*models, n_clear=n_clear))
    changed, texts, *_rest = (paragraph.text for paragraph in page.text)
    are = "is" if n_clear == 1 else "are"
    none = " After this correction, the data do not show a change of accuracy in any of them."
    assert changed == page.finding
    assert changed == (
        "Of 4 models that were tuned, 1 has a higher accuracy than its base model in this sample, and 2 lower ones. After Holm's correction "
        f"over these 4 tests and 2 tests of the chapter's other question, {n_clear} {are} significant (p below .05). The estimates correlate at 0.25 "
        f"on average, so the 4 tests correspond to about 1.5 independent tests.{'' if n_clear else none}"
    )
    assert "clearly fell more, or rose less, than that of altered versions in 1, and" in texts
    assert "clearly fell less, or rose more, in 1." in texts
    better = text_of(of_models(models[0], models[0], *models[2:]))[0]
    assert (
        ", 2 have higher accuracies than their base models in this sample, and 2 lower ones."
        in better
    )
    one_prompt_each = [replace(one, prompts=("paper", "none")) for one in models]
    assert "received different prompts (paper, none)" in text_of(of_models(*one_prompt_each))[1]


def test_a_family_without_another_question_counts_its_own_tests() -> None:
    family = Family(3, 2.0, None, 1, 0.01)
    assert family_sentences(family).startswith(
        "As one family, after Holm's correction, 1 of 3 is significant (p below .05). "
    )
    assert family_sentences(replace(family, n_tests=1)) == ""


@pytest.mark.parametrize(("fall", "side"), [(0.2, "below"), (-0.2, "above")])
def test_reference_texts_are_said_where_a_change_could_be_told(
    small: SourceData, fall: float, side: str
) -> None:
    model = pair_of(small)
    corpus = need(model.corpora)[0]
    change = need(corpus.change)
    told = replace(corpus, change=replace(change, fall=replace(change.fall, mean_difference=fall)))
    unknown = replace(corpus, change=MissingResult("The texts differ.", ""))
    text = text_of(of_models(replace(model, corpora=(unknown, told, told, told, told))))[1]
    assert text.count(f"is 0.200 nats per token {side} its base's") == 3
    none = replace(model, corpora=(unknown,), by_cutoff=MissingResult("No dates.", "Add them."))
    assert text_of(of_models(none))[1:] == ["No dates. Add them."]


def test_the_number_of_test_cases_after_the_cutoff_is_stated(small: SourceData) -> None:
    model = pair_of(with_cutoffs(small, tuned="2023-01-10"))
    found = need(model.by_cutoff)
    after = need(found.after.decisions)
    text = text_of(of_models(model))[-1]
    assert text.startswith(
        f"20 test cases appeared after the end of Model 3's training data (2023-01-10). On these, the base model was right in "
        f"{percent(after.before.accuracy)} and the tuned model in {percent(after.after.accuracy)}, "
    )
    assert text.endswith("not corrected for multiple tests).")
    # Where none was published before, the same numbers are not said again without their correction
    every = replace(model, n_items=found.after.n_items)
    assert text_of(of_models(every))[-1] == (
        "All 20 test cases appeared after the end of Model 3's training data (2023-01-10), so its comparison with its base model is of "
        "later texts only."
    )
    few = replace(found.after, n_items=1, decisions=MissingResult("Too few.", ""))
    unknown = replace(found, after=few, is_base_known=False)
    assert text_of(of_models(replace(model, by_cutoff=unknown)))[-1] == (
        "1 test case appeared after the end of Model 3's training data (2023-01-10), which is too few for a comparison. This is the last "
        "day of its corpus. The cutoff of its base model is not known."
    )


def test_captions_count_tuned_models(small: SourceData) -> None:
    model = pair_of(small)
    pair, names = (model, need(model.comparison)), {model.name: "Tuned"}
    one, two = finetuning_figure([pair], names), versions_figure([pair, pair], names)
    assert one.caption.startswith("n = 1 tuned model on 30 test cases that its base model also")
    assert two.caption.startswith("n = 2 tuned models, each on up to 30 test cases that its base")
    assert re.fullmatch(r"Accuracy before and after tuning: Tuned from \S+% to \S+%\.", one.alt)
    assert two.alt.count("; Tuned ") == 1
