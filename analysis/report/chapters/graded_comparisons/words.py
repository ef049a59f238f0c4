"""The chapter that compares graded answers, as sentences, tables and captions."""

from collections.abc import Sequence

from analysis import columns as c
from analysis.codec import present
from analysis.presentation import FigureText, Table, paragraphs, sentences
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.graded_comparisons.results import (
    Compared,
    Deferral,
    Deferrals,
    GradedComparisons,
    Kept,
    TextMetrics,
)
from analysis.report.chapters.graded_rates.captions import BOXES, caption, listed
from analysis.report.chapters.graded_rates.words import is_telling
from analysis.stats.estimates import defined
from analysis.stats.verdicts import Verdict
from lib import formatting as f
from lib.extremes import highest

FEW = "too few templates or questions without one"


SELECTIVE = (
    c.text("Respondent", "label"),
    c.count("Answers", "n"),
    c.percent("Texts that do not abstain", lambda row: row.n_kept / row.n),
    c.percent("Good of these", lambda row: row.accuracy[-1]),
    c.points("Gain by confidence, points", "gain"),
    c.points_ci("95% CI", "gain_ci95"),
)
TEXTS = (
    c.text("Comparison with the expert answer", "name"),
    c.coefficient("Mean", "mean"),
    c.coefficient("Spearman's rho with points", "correlation.rho"),
    c.coefficient_ci("95% CI", "correlation.rho_ci95"),
    c.coefficient("Kendall's tau-b", "correlation.tau"),
    c.coefficient_ci("95% CI", "correlation.tau_ci95"),
)


def graded_comparisons_page(source: SourceResults, about: About) -> Page:
    own = source.of(GradedComparisons)
    compared, selective = present(own.graded_comparisons), present(own.graded_selective)
    texts, deferral = present(own.graded_texts), present(own.graded_deferral)
    finding = ""
    if compared:
        corrected = ", after Holm's correction over all pairs and both rates"
        few = f"There are {FEW} to say whether models differ."
        finding = few if compared.is_few else _clear_pairs(compared, corrected)
    confident = []
    for curve in selective.curves if selective else ():
        if curve.is_curve:
            gain = f.with_interval(f.points(curve.gain), f.points_interval(curve.gain_ci95))
            confident.append(
                f"{curve.label}: {f.percent(curve.accuracy[-1])} of the texts that did not abstain are good. If only the most confident "
                f"answers are kept, this share changes by {gain} percentage points, averaged over all shares of answers kept. "
                "This is descriptive and not tested."
            )
    methods = [one.method for one in (compared, selective, deferral, texts) if one is not None]
    methods += [selective.rule] if selective else []
    methods += [texts.bert_method] if texts and texts.bert_method else []
    asked = deferral.models if deferral else ()
    has_threshold = any(model.threshold for model in asked)
    deferring = (*DEFERRAL, *(BELOW_THRESHOLD if has_threshold else ()))
    kept, experts = "Answers kept", "Answers compared with the expert answer"
    instead = "Asking a person instead of the model"
    return Page(
        text=paragraphs(
            finding,
            *confident,
            _asking(deferral) if deferral else "",
            _best_metric(texts) if texts else "",
        ),
        tables=[
            *(_pairs_table(compared) if compared else ()),
            *c.page_table(
                kept, SELECTIVE, selective.curves if selective else (), "graded_selective"
            ),
            *c.page_table(instead, deferring, asked, "graded_deferral"),
            *c.page_table(experts, TEXTS, texts.metrics if texts else (), "graded_texts"),
        ],
        methods=methods,
        finding=finding,
    )


# --- Pairs of models.


def _clear_pairs(own: Compared, corrected: str = "") -> str:
    tested: list[str] = []
    untested: list[str] = []
    partly: list[str] = []
    for name, pairs in (("response quality", own.rqr), ("safety", own.sr)):
        n = sum(pair.verdict.is_clear for pair in pairs)
        n_few = sum(pair.verdict is Verdict.TOO_FEW for pair in pairs)
        if n_few == len(pairs):
            untested.append(name)
            continue
        if n_few:
            partly.append(f"{f.number(n_few, 0)} of the pairs in {name}")
        if tested:
            tested.append(f"and {f.number(n, 0)} in {name}")
        else:
            differ = f.verb(n, "differs", "differ")
            tested.append(f"{f.number(n, 0)} {differ} significantly in {name}")
    pairs_of = f.count(len(own.rqr), "pair")
    return sentences(
        f"Of {pairs_of} of models, {', '.join(tested)}{corrected}." if tested else "",
        f"There are {FEW} to compare {' and '.join(partly)}." if partly else "",
        f"There are {FEW} to say whether models differ in {' or '.join(untested)}."
        if untested
        else "",
    )


def _pairs_table(own: Compared) -> list[Table]:
    label = {model.name: model.label for model in own.models}
    columns = (
        c.text("First", lambda row: label[row[0].first]),
        c.text("Second", lambda row: label[row[0].second]),
        c.count("Questions", "0.n"),
        c.points("Quality, points", "0.difference"),
        c.points_ci("95% CI", "0.ci95"),
        c.p_value("p (Holm)", "0.p_holm"),
        c.points("Safety, points", "1.difference"),
        c.points_ci("95% CI", "1.ci95"),
        c.p_value("p (Holm)", "1.p_holm"),
    )
    rows = zip(own.rqr, own.sr, strict=True)
    title = "First minus second model, in percentage points"
    return c.page_table(title, columns, rows, "graded_comparisons")


def differences_figure(own: Compared) -> FigureText:
    return FigureText(
        "Differences between pairs of models",
        caption(
            own,
            f"n = {f.count(len(own.rqr), 'pair')} of models, on the questions that both answered, graded by {own.judge}.",
            "Lines are 95% intervals clustered by template, not corrected; dark pairs differ significantly after Holm's correction.",
        ),
        _clear_pairs(own),
    )


# --- Accuracy of the most confident answers.


def selective_figure(own: Kept) -> FigureText:
    return FigureText(
        "Accuracy against coverage",
        caption(
            own,
            f"n = {f.count(len(own.curves), 'respondent')}.",
            "A line is one respondent whose confidence is known; from right to left, the least confident answers are left out. A "
            "respondent whose confidence is not known is a single point: the share of answers that are texts and do not abstain, and "
            "the share of these that are good. No interval is drawn.",
        ),
        listed(
            f"{curve.label}: {f.percent(curve.accuracy[-1], 0)} good of the {f.percent(curve.coverage[-1], 0)} that are texts and "
            "did not abstain"
            for curve in own.curves
        ),
    )


# --- Asking a person instead of the model.


def _over_better(model: Deferral) -> float:
    """Good answers if a person is asked where the model abstains, less those of the better of the two alone."""
    return model.abstaining.good - max(model.model, model.people)


DEFERRAL = (
    c.text("Model", "label"),
    c.count("People's answers", "n"),
    c.percent("Good answers of the model", "model"),
    c.percent("Good of people", "people"),
    c.percent("Asked where it abstains", "abstaining.share_asked"),
    c.percent("Good", "abstaining.good"),
    c.share_ci("95% CI", "abstaining.good_ci95"),
    c.points("More than the better alone, points", _over_better),
)
BELOW_THRESHOLD = (
    c.percent("Asked below the threshold", "threshold.share_asked"),
    c.percent("Good", "threshold.good"),
    c.share_ci("95% CI", "threshold.good_ci95"),
    c.points("Gain, points", "threshold.gain"),
    c.points_ci("95% CI", "threshold.gain_ci95"),
)


def _asking(own: Deferrals) -> str:
    """On the model that gains most, of those of which as much is known."""
    # Those with a threshold first, by what it gains; the others by what asking where they abstain does
    model = max(
        own.models,
        key=lambda one: (
            bool(one.threshold),
            one.threshold.gain if one.threshold else _over_better(one),
        ),
    )
    asked, below = model.abstaining, ""
    if threshold := model.threshold:
        gain = f.with_interval(f.points(threshold.gain), f.points_interval(threshold.gain_ci95))
        below = (
            "If a person is asked whenever the model's confidence is below a threshold chosen on other questions "
            f"({f.percent(threshold.share_asked)} of answers), {f.percent(threshold.good)} are good, a difference of {gain} percentage "
            "points from the better of the two alone."
        )
    n = sum((one.threshold is None) == (model.threshold is None) for one in own.models)
    chosen = (
        f"Of {f.count(n, 'model')}, this one gains most over the better of model and people alone, which favours it."
        if n > 1
        else ""
    )
    good = f.with_interval(f.percent(asked.good), f.share_interval(asked.good_ci95))
    return sentences(
        f"Of {f.count(model.n, 'answer')} of people to questions that {model.label} also answered, {f.percent(model.people)} are "
        f"good; of the model's answers, {f.percent(model.model)} are.",
        f"If a person is asked whenever the model abstains ({f.percent(asked.share_asked)} of answers), {good} are good.",
        below,
        chosen,
    )


def deferral_figure(own: Deferrals, shown: Sequence[Deferral]) -> FigureText:
    n_left_out = len(own.models) - len(shown)
    n = max(model.n for model in own.models)
    told = []
    for model in shown:
        asked, below = model.abstaining, ""
        if threshold := model.threshold:
            below = f", {f.percent(threshold.good, 0)} below a threshold of confidence ({f.percent(threshold.share_asked, 0)} asked)"
        told.append(
            f"{model.label}: {f.percent(model.model, 0)} good alone, people {f.percent(model.people, 0)}; "
            f"{f.percent(asked.good, 0)} with people asked for the {f.percent(asked.share_asked, 0)} where it abstains{below}"
        )
    return FigureText(
        "Asking a person instead of the model",
        caption(
            own,
            f"n = at most {f.count(n, 'answer')} of people, compared with those of {f.count(len(shown), 'model')} to the same "
            "questions; the left of each panel is the model alone, the right is people alone.",
            "The band and vertical lines are 95% intervals clustered by template. A model whose confidence is not known has no curve.",
            f"{f.count(n_left_out, 'more model')} {f.verb(n_left_out, 'is', 'are')} in the table."
            if n_left_out
            else "",
        ),
        listed(told),
    )


# --- Words in common with the expert answer.


def _best_metric(own: TextMetrics) -> str:
    known = [
        (metric.name, found)
        for metric in own.metrics
        if (found := defined(present(metric.correlation)))
    ]
    best = highest(known, lambda pair: pair[1].rho)
    # Said only where it is known to some extent
    if not best or not is_telling(best[0][1].rho_ci95, -1, 1):
        return ""
    names, found = f.listing([name for name, _found in best]), best[0][1]
    rho = f.coefficient(found.rho)
    if len(best) == 1:
        rho = f.with_interval(rho, f.coefficient_interval(found.rho_ci95))
    return (
        f"Of the metrics that compare an answer with the expert's, {names} {f.verb(len(best), 'has', 'have')} the highest observed rank "
        f"correlation with the points: {rho} over {f.count(found.n, 'answer')} that {own.judge} graded, of all respondents together."
    )


def texts_figure(own: TextMetrics) -> FigureText:
    every = f.count(own.n_all, "answer")
    drawn = (
        f"{f.number(own.n, 0)}, drawn at random from the {every}" if own.n < own.n_all else every
    )
    return FigureText(
        "Answers compared with the expert answer",
        sentences(f"n = {drawn} that have points and did not abstain.", BOXES),
        listed(f"{metric.name}: mean {f.number(metric.mean)}" for metric in own.metrics),
    )
