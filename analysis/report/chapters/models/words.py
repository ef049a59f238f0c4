"""The chapters on agreement and on the integration of context, as sentences, tables and captions."""

import math
from collections.abc import Sequence
from functools import partial

import pandas as pd

from analysis import columns as c
from analysis.charts.texts import HOLLOW
from analysis.codec import need, present
from analysis.data.filters import CHOICE
from analysis.presentation import FigureText, paragraphs, sentences
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.models.results import (
    Agreement,
    ContextAccuracy,
    HumanAgreement,
    Integration,
    ModelIntegration,
    RankAgreement,
    Reliability,
)
from analysis.stats.estimates import SHARES, mean_of
from lib import formatting as f
from lib.levels import ENOUGH

AGREEMENT = (
    c.text("Model", "label"),
    c.text("Family", "family"),
    c.count("Test cases", "correlation.n"),
    c.coefficient("Spearman's rho", "correlation.rho"),
    c.coefficient_ci("95% CI", "correlation.ci95"),
    c.p_value("p", "correlation.p"),
)


def agreement_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Agreement).agreement)
    people = present(own.noise_ceiling)
    if people and not math.isfinite(people.halves.spearman_brown):
        people = None
    finding, asked = "", ""
    if among := present(own.model_model):
        correlation = "rank correlation of difficulty for the models (scored so that larger values mean easier)"
        over, mean = f"Over {f.count(among.n_pairs, 'pair')} of models", f.coefficient(among.mean)
        interval = f.coefficient_interval(own.model_model_ci95)
        if among.n_pairs == 1:
            finding = f"{over}, the {correlation} is {f.with_interval(mean, interval)}."
        else:
            spread = f"SD {f.coefficient(among.sd)}"
            shown = spread if interval == f.DASH else f"95% CI {interval}; {spread}"
            finding = f"{over}, the mean {correlation} is {mean} ({shown})."
        n_undefined = len(own.names) * (len(own.names) - 1) // 2 - among.n_pairs
        finding = sentences(
            finding,
            f"{f.count(n_undefined, 'more pair')} {f.verb(n_undefined, 'has', 'have')} no correlation, because fewer than three test cases have "
            "both difficulties, or one of them does not vary."
            if n_undefined
            else "",
            ""
            if own.model_model_ci95
            else f"With fewer than {ENOUGH} test cases, there is no interval."
            if own.n_items < ENOUGH
            else "There is no interval, because too many resamples have no correlation.",
        )
    if n_asked := sum(model.method == CHOICE for model in own.models_human):
        models, their = ("model that was", "its") if n_asked == 1 else (f"{n_asked} models that were", "their")  # fmt: skip
        asked = f"For the {models} asked and not scored, the difficulty is the log-odds of the original in {their} answers."
    rows = [model for model in own.models_human if present(model.correlation)]
    caption = "Each model's difficulties compared with human accuracy"
    return Page(
        text=paragraphs(finding, _with_people(own), asked, _reliability(people) if people else ""),
        tables=c.page_table(caption, AGREEMENT, rows, "agreement_matrix"),
        methods=[own.method, *([people.halves.method] if people else [])],
        finding=finding,
    )


def _with_people(own: RankAgreement) -> str:
    if own.model_human_mean is None:
        return ""
    n = own.n_models_human
    counted = [known.n for model in own.models_human if (known := model.known)]
    which = (
        "The rank correlation between difficulty for the model"
        if n == 1
        else f"The mean rank correlation between difficulty for each of the {n} models"
    )
    cases = f.count(own.n_items, "test case")
    interval = f.coefficient_interval(own.model_human_ci95)
    basis = cases if interval == f.DASH else f"95% CI {interval}; {cases}"
    undefined = [model.label for model in own.models_human if not model.known]
    return sentences(
        f"{which} (scored so that larger values mean easier) and the human accuracy of each test case is "
        f"{f.coefficient(own.model_human_mean)} ({basis}).",
        f"There is none for {f.listing(undefined)}, because fewer than three test cases have both, or one side does not vary."
        if undefined
        else "",
        ""
        if all(items == own.n_items for items in counted)
        else "Each model counts on the test cases for which its difficulty is known.",
    )


def _reliability(people: Reliability) -> str:
    halves = people.halves
    if halves.spearman_brown <= 0:
        return (
            "People's agreement about which test cases are easy cannot be estimated, because the two halves of their trials do not correlate "
            "positively."
        )
    reliability = f.with_interval(
        f.coefficient(halves.spearman_brown), f.coefficient_interval(halves.ci95)
    )
    corrected = people.model_human_mean_corrected
    return sentences(
        "People's agreement about which test cases are easy, measured as the split-half reliability of their accuracies, is "
        f"{reliability} after Spearman-Brown ({f.count(halves.n_splits, 'random split')}).",
        ""
        if halves.is_clear
        else "Correlations are corrected only for a reliability whose interval lies above 0, so none is corrected here.",
        ""
        if corrected is None
        else f"After correction for this reliability, the correlation between models and people is {f.coefficient(corrected)}.",
    )


def agreement_figure(own: RankAgreement, models: Sequence[HumanAgreement]) -> FigureText:
    among, people = present(own.model_model), own.model_human_mean
    means = [
        *([f"{f.number(among.mean)} between models"] if among else ()),
        *([f"{f.number(people)} between models and people"] if people is not None else ()),
    ]
    correlation = "Mean rank correlations" if len(means) != 1 else "Mean rank correlation"
    return FigureText(
        "Agreement about which test cases are easy",
        sentences(
            f"n = up to {f.count(own.n_items, 'test case')}, {f.count(len(models), 'model')}. Spearman correlations of difficulty, scored so "
            "that larger values mean easier: for models, the perplexity of the altered minus that of the original text; for people, "
            "their accuracy.",
            "For models that were asked, difficulty is the log-odds of the original in their answers."
            if any(model.method == CHOICE for model in models)
            else "",
            "A row's name also labels the column below it. The next figure has the intervals of people's row; those between models "
            "are not drawn.",
        ),
        f"{correlation} of difficulty: {' and '.join(means) or 'not defined'}.",
    )


def with_people_figure(
    shown: pd.DataFrame, ceiling: float | None, ceiling_ci95: Sequence[float]
) -> FigureText:
    """shown: a row of each model, with n, rho and is_chat."""
    cases = f.count(int(shown["n"].max()), "test case")
    low, high = f.number(shown["rho"].min()), f.number(shown["rho"].max())
    span = low if low == high else f"from {low} to {high}"
    limit, of_ceiling = "", ""
    if ceiling:
        shaded = "; shaded: its 95% interval" if ceiling_ci95 else ""
        of_ceiling = f"The ceiling is the square root of the reliability of people's accuracies (split halves, Spearman-Brown){shaded}."
        estimate = f.with_interval(f.number(ceiling), f.interval(ceiling_ci95))
        limit = f"; by the estimated reliability of people's accuracies, noise would keep it below about {estimate}"
    return FigureText(
        "Agreement of each model with people about difficulty",
        sentences(
            f"n = up to {cases}, {f.count(len(shown), 'model')}. Lines are 95% intervals (Bonett and Wright's).",
            of_ceiling,
            HOLLOW if shown["is_chat"].any() else "",
        ),
        f"Spearman correlations of models' and people's difficulties: {span}{limit}.",
    )


# --- Integration of context.


def integration_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Integration).integration)
    test = present(own.pooled.full_vs_isolated)
    alone, whole, swapped = "", "", ""
    if own.pooled.mean is not None:
        alone = (
            f"On the {f.count(own.n_sentences, 'sentence')} that differ, models that read each sentence alone found the original in "
            f"{f.percent(own.pooled.mean)} on average. If accuracy is first averaged within each test case, the mean is "
            f"{f.percent(own.by_item.mean)}."
        )
    if test:
        points = f.with_interval(
            f.points(test.mean_difference), f.points_interval(test.ci95), "95% CI over models"
        )
        whole = (
            f"Their accuracy from the whole abstract minus that from the sentence alone is {points} points on average "
            f"({f.p_value(test.p)}, {f.count(test.n, 'model')})."
        )
    if own.swapped:
        swapped = (
            "When models read whole abstracts in which each sentence that differs had been replaced by one from another abstract of the "
            "subfield (its original sentence in the original version, its altered sentence in the altered version), accuracy was "
            f"{_by_seed(own)}."
        )
    # A column for each seed by which results were swapped
    seeds = sorted({swapped.seed for model in own.models for swapped in model.swapped})
    columns = (
        c.text("Model", "label"),
        c.percent("Whole abstract", "full"),
        c.percent("Sentences alone", "isolated_pooled"),
        c.percent("Within test cases", "isolated_item"),
        *(
            c.percent(
                f"Swapped, seed {seed}",
                partial(ModelIntegration.swapped_by, seed=seed),
            )
            for seed in seeds
        ),
    )
    return Page(
        text=paragraphs(alone, whole, swapped),
        tables=c.page_table(
            "Accuracy with and without context", columns, own.models, "integration"
        ),
        methods=[test.method] if test else [],
        finding=alone,
    )


def _by_seed(own: ContextAccuracy) -> str:
    return ", ".join(
        f"{f.percent(row.mean)} with seed {row.seed} ({f.count(row.n_models, 'model')})"
        for row in own.swapped
    )


def integration_figure(own: ContextAccuracy, *, has_chat: bool) -> FigureText:
    known = [model.full for model in own.models if f.is_known(model.full)]
    whole = mean_of(known, SHARES) if known else None
    of_sentences = f" ({f.count(own.n_sentences, 'sentence')})" if own.n_sentences else ""
    return FigureText(
        "Gain of models from the whole abstract",
        sentences(
            f"n = {f.count(len(own.models), 'model')} on {f.count(own.n_items, 'test case')}{of_sentences}.",
            "Lines are 95% score intervals, treating sentences as independent. Solid lines: whole abstracts; long dashes: single sentences; "
            "short dashes: swapped results. Single sentences are all those that contain a changed passage, pooled. With swapped results, "
            "each of these sentences comes from another abstract of the subfield, and each mark is a seed.",
            HOLLOW if has_chat else "",
        ),
        sentences(
            f"On average {f.count(whole.n, 'model')} {f.verb(whole.n, 'is', 'are')} right on {f.percent(whole.mean)} of the whole "
            "abstracts."
            if whole
            else "",
            f"On single sentences: {f.percent(own.pooled.mean)} ({f.count(own.n_models, 'model')})."
            if own.pooled.mean is not None
            else "",
            f"On abstracts with swapped results: {_by_seed(own)}." if own.swapped else "",
        ),
    )
