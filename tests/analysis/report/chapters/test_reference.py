"""The published data give the figures of the re-analysis in the reference, to a billionth of each."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from analysis.data.dataset import SourceData
from analysis.report.chapters.accuracy.results import REST
from analysis.report.contents import chapter_named
from tests.analysis.report.chapters.chapter_results import results_of

# Each line: what a result is called here and there, or one name for both
PAIRED = """
    n, df=dof, mean_difference=mean_diff, sd_difference=sd_diff, t, p=p_two_sided, ci95, d_z=cohen_dz,
    d_av=cohen_d_pingouin_dav
"""
LINE = "slope, intercept, r, p"
# Chapter, place in its results, place in the reference, values
ONE = [
    ("accuracy", "humans", "human_overall", """
        trials.n=n_trials, trials.n_correct=n_correct, trials.accuracy=accuracy, trials.sem=sem_binomial, n_participants,
        n_items, over_participants.mean=mean_of_participant_means, over_participants.sem=sem_over_participants,
        over_items.mean=mean_of_item_means, over_items.sem=sem_over_items
    """),
    ("accuracy", "humans.top_expertise", "human_overall", """
        trials.accuracy=top20_per_item.accuracy, trials.sem=top20_per_item.sem_binomial,
        n_items_without=top20_per_item.n_items_with_zero, above_p80.trials.n=alt_global_ge_p80.n
    """),
    ("accuracy", "models_mean", "llm_mean", "mean, sd=sd_ddof1, sem"),
    ("accuracy", "models_vs_humans.test", "llm_vs_human_paired_t", PAIRED),
    ("accuracy", "base_vs_chat.test", "base_vs_chat_paired_t", PAIRED),
    ("agreement", "agreement", "spearman", """
        matrix=llm_llm_matrix, model_model.mean=llm_llm_mean, model_model.sd=llm_llm_sd_ddof0,
        model_model.sd_ddof1=llm_llm_sd_ddof1, model_model.min=llm_llm_min, model_model.max=llm_llm_max,
        model_model.n_pairs=n_pairs, model_human_mean=llm_human_mean, model_human_sd=llm_human_sd_ddof0
    """),
    ("integration", "integration.pooled", "iso",
        "mean=mean_pooled, sd=sd_pooled, n_models_below_humans=n_llm_below_human_pooled"),
    ("integration", "integration.by_item", "iso",
        "mean=mean_item, sd=sd_item, n_models_below_humans=n_llm_below_human_item"),
    ("integration", "integration.pooled.full_vs_isolated", "iso.full_vs_iso_pooled_t", PAIRED),
    ("integration", "integration.by_item.full_vs_isolated", "iso.full_vs_iso_item_t", PAIRED),
    *(
        ("integration", f"integration.swapped.{n}{ours}", f"swap_seed{seed}{theirs}", values)
        for n, seed in enumerate((42, 1234))
        for ours, theirs, values in (
            ("", "", "mean, sd"),
            (".full_vs_swapped", ".full_vs_swap_t", PAIRED),
            (".swapped_vs_isolated_pooled", ".swap_vs_iso_pooled_t", PAIRED),
        )
    ),
    ("exposures", "exposures", "human_data.exposures.human", "n_items, mean, sd=sd_ddof1, sd_ddof0, min, max"),
]  # fmt: skip
# The same of each row, by its name
EACH = [
    ("accuracy", "models", "llm_accuracy",
        "items.n=n, items.n_correct=n_correct, items.n_ties=ties, items.accuracy=accuracy, items.sem=sem_binomial"),
    ("accuracy", "extra_models", "other_models_figS2", "items.accuracy=accuracy"),
    ("subfields", "subfields", "subfields", """
        n_items, share_items=proportion, humans.n=human.n_trials, humans.accuracy=human.accuracy, humans.sem=human.sem,
        top_expertise.trials.n=human_top20_within_subfield.n_trials,
        top_expertise.threshold=human_top20_within_subfield.threshold,
        top_expertise.trials.accuracy=human_top20_within_subfield.accuracy,
        top_expertise.trials.sem=human_top20_within_subfield.sem,
        models_mean.over_models.mean=llm_mean, models_mean.sd_ddof0=llm_sd_ddof0
    """),
    ("positions", "positions", "positions",
        "trials.n=n_trials, n_participants, trials.accuracy=accuracy, trials.sem=sem"),
    ("expertise", "expertise.distributions", "expertise_distribution", """
        ratings.n=n, ratings.n_unique=n_unique, ratings.mean=mean, ratings.sd=sd, ratings.min=quartiles.0,
        ratings.q1=quartiles.1, ratings.median=quartiles.2, ratings.q3=quartiles.3, ratings.max=quartiles.4
    """),
    ("expertise", "expertise.calibration", "expertise_calibration_4bins", "binned.bins.*.accuracy=bin_accuracy, "
        + ", ".join(f"binned.line.{key}=regression_on_rank_midpoint.{key}" for key in LINE.split(", "))),
    ("calibration", "calibration.models", "logistic_full_sample", "logistic.slope=mle_coef"),
    ("agreement", "agreement.models_human", "spearman.llm_human", "known.rho=rho, known.p=p"),
    ("integration", "integration.models", "iso.llm", """
        n_sentences, n_items, n_items_isolated=n_items, isolated_pooled=accuracy_pooled_sentences,
        isolated_item=accuracy_mean_of_item_means
    """),
    *(
        ("integration", "integration.models", f"swap_seed{seed}.llm",
            f"swapped.{n}.accuracy=accuracy, swapped.{n}.sem=sem_binomial")
        for n, seed in enumerate((42, 1234))
    ),
    ("publication_date", "publication_date", "pubdate_spearman.llm", "known.rho=rho, known.p=p"),
    ("finetuning", "finetuning", "finetuning", """
        comparison.before.accuracy=acc_before, comparison.after.accuracy=acc_after, comparison.before.sem=sem_before,
        comparison.after.sem=sem_after, comparison.mcnemar.gained=gained, comparison.mcnemar.lost=lost,
        comparison.mcnemar.p=mcnemar_exact_p, comparison.ppl_correct.before_mean=correct_ppl_before_mean,
        comparison.ppl_correct.after_mean=correct_ppl_after_mean, comparison.ppl_correct.test.t=correct_ppl_t.t,
        comparison.ppl_correct.test.p=correct_ppl_t.p_two_sided, comparison.signed_difference.t=signed_diff_t.t,
        comparison.signed_difference.p=signed_diff_t.p
    """),
]  # fmt: skip


def at(value: Any, place: str) -> Any:
    """The value at a place: attributes, keys and numbers, and `*` for each of several."""
    part, _, rest = place.partition(".")
    if part == "*":
        return [at(one, rest) for one in value]
    if part.isdigit():
        found = value[int(part)]
    else:
        found = value[part] if isinstance(value, Mapping) else getattr(value, part)
    return at(found, rest) if rest else found


def assert_same(ours: Any, theirs: Any, values: str) -> None:
    for name in values.split(","):
        one, _, other = name.strip().partition("=")
        wanted = at(theirs, other or one)
        np.testing.assert_allclose(at(ours, one), wanted, rtol=1e-9, err_msg=name)


def name_of(row: Any) -> str:
    """The reference's name of a model, a subfield or a position."""
    names: Iterable[str] = ("name", "subfield", "position")
    found = next(str(getattr(row, name)) for name in names if hasattr(row, name))
    own = {"Faculty or academic staff": "Faculty/Academic staff", REST: "__other"}
    return own.get(found, found)


@pytest.fixture(scope="module")
def published_results(published: SourceData) -> Callable[[str], Any]:
    """The results of a chapter, computed once."""

    @cache
    def results(chapter: str) -> Any:
        own = chapter_named(chapter)
        return results_of(published, own).of(own.results)

    return results


@pytest.mark.parametrize(("chapter", "ours", "theirs", "values"), ONE)
def test_a_result_is_that_of_the_reference(
    published_results, reference, chapter: str, ours: str, theirs: str, values: str
) -> None:
    assert_same(at(published_results(chapter), ours), at(reference, theirs), values)


@pytest.mark.parametrize(("chapter", "ours", "theirs", "values"), EACH)
def test_each_row_is_that_of_the_reference(
    published_results, reference, chapter: str, ours: str, theirs: str, values: str
) -> None:
    found = {name_of(row): row for row in at(published_results(chapter), ours)}
    known = at(reference, theirs)
    assert len(found.keys() & known.keys()) >= min(len(found), len(known)) > 3
    for name in found.keys() & known.keys():
        assert_same(found[name], known[name], values)
