"""The chapter on changes of preference along the text, as sentences, tables and captions."""

from collections.abc import Sequence

import numpy as np

from analysis import columns as c
from analysis.codec import need
from analysis.presentation import FigureText, Paragraph, paragraphs, sentences
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.flips.results import (
    PATTERN,
    RATIO,
    SENTENCE,
    TOKEN,
    ChangesOfMind,
    Examples,
    ModelFlips,
)
from analysis.stats.estimates import Proportion
from analysis.stats.flips import Flips
from lib import formatting as f

BY = {TOKEN: "token", SENTENCE: "sentence", RATIO: "token, log-likelihood ratio"}


FIRST_COLUMNS = (c.text("Model", "0"), c.text("Compared by", "1"))
CATEGORIES = (
    *FIRST_COLUMNS,
    c.count("Test cases", "2.n_items"),
    c.count("Pos-Pos", "2.counts.PosPos"),
    c.count("Pos-Neg", "2.counts.PosNeg"),
    c.count("Neg-Pos", "2.counts.NegPos"),
    c.count("Neg-Neg", "2.counts.NegNeg"),
    c.count("Final sign differs from decision", "2.n_end_disagrees"),
)
SHARES = (
    *FIRST_COLUMNS,
    c.count("n wrong at first", "2.wrong_ends_right.n"),
    c.percent("Right at the end, share of these", "2.wrong_ends_right.accuracy"),
    c.share_ci("95% CI", "2.wrong_ends_right.ci95"),
    c.count("n right at first", "2.right_ends_right.n"),
    c.percent("Right at the end, share of these", "2.right_ends_right.accuracy"),
    c.share_ci("95% CI", "2.right_ends_right.ci95"),
)
# By the model's decision
SIGN_CHANGES = (
    *FIRST_COLUMNS,
    c.count("n right", "2.sign_flips.correct.n"),
    c.number("Mean, decision right", "2.sign_flips.correct.mean"),
    c.ci("95% CI", "2.sign_flips.correct.ci95"),
    c.count("n wrong", "2.sign_flips.wrong.n"),
    c.number("Mean, decision wrong", "2.sign_flips.wrong.mean"),
    c.ci("95% CI", "2.sign_flips.wrong.ci95"),
)
EXAMPLES = (
    c.text("Pattern", lambda example: PATTERN[example.pattern]),
    c.text("Compared by", lambda example: BY[example.level]),
    c.count("Test cases", "n_items"),
    c.text("Typical", "item"),
)


def flips_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(ChangesOfMind).flips)
    by_token = [model.token for model in own.models]
    by_sentence = [model.sentence for model in own.models if model.sentence]
    wrong = _mean_share([one.wrong_ends_right for one in by_token])
    right = _mean_share([one.right_ends_right for one in by_token])
    wrong_at_first, right_at_first = "", ""
    if wrong is not None:
        wrong_at_first = sentences(
            f"Of the test cases in which a model prefers the altered text at the first token that differs, {f.percent(wrong, 0)} end with "
            "the right choice; the BrainBench paper reports about 20%.",
            _by_sentence([one.wrong_ends_right for one in by_sentence]),
        )
    if right is not None:
        right_at_first = sentences(
            f"Of those in which it prefers the original there, {f.percent(right, 0)} end with the right choice; the BrainBench paper reports more than half.",
            _by_sentence([one.right_ends_right for one in by_sentence]),
        )
    means = [one for one in (wrong_at_first, right_at_first, _sign_changes(by_token)) if one]
    difference = sentences(
        "The difference is the perplexity of the altered version minus that of the original, up to each token. The last difference is "
        "the decision.",
        f"Means over {f.count(len(own.models), 'model')}:" if means and len(own.models) > 1 else "",
    )
    ratio = ""
    if opposite := _opposite(own.models):
        ratio = (
            "The figure also shows the log-likelihood ratio, an additional measure: how much more likely the original is so far, not "
            f"divided by the number of tokens. {opposite} to the model's decision, for which each version's summed log-likelihood is "
            "divided by its own number of tokens."
        )
    rows = [
        (model.label, BY[level], found)
        for model in own.models
        for level, found in model.levels.items()
    ]
    changed = [row for row in rows if row[2].sign_flips.correct or row[2].sign_flips.wrong]
    signs = (
        "Sign of the difference at the first token that differs (or its sentence), and at the end: positive favours the "
        "original version, negative the altered one"
    )
    patterns = f"Patterns in the test cases of {own.typical.label}"
    return Page(
        text=[Paragraph(difference, means), *paragraphs(ratio)],
        tables=[
            *c.page_table(signs, CATEGORIES, rows, "flips_items"),
            *c.page_table("From the first sign to the last", SHARES, rows),
            *c.page_table("Changes of sign per test case along the text", SIGN_CHANGES, changed),
            *c.page_table(patterns, EXAMPLES, own.typical.examples, "flips_traces"),
        ],
        methods=[own.method, own.method_log_likelihood_ratio, own.typical.rule],
        finding=wrong_at_first,
    )


def _by_sentence(shares: Sequence[Proportion | None]) -> str:
    share = _mean_share(shares)
    return f"By sentence instead of by token: {f.percent(share, 0)}." if share is not None else ""


def _mean_share(of: Sequence[Proportion | None]) -> float | None:
    """Over the models that have such test cases; None without any."""
    values = [one.accuracy for one in of if one]
    return float(np.mean(values)) if values else None


def _sign_changes(by_token: Sequence[Flips]) -> str:
    right = [one.sign_flips.correct.mean for one in by_token if one.sign_flips.correct]
    wrong = [one.sign_flips.wrong.mean for one in by_token if one.sign_flips.wrong]
    if not right or not wrong:
        return ""
    return (
        f"The sign changes {f.number(float(np.mean(right)), 1)} times if the decision is right and {f.number(float(np.mean(wrong)), 1)} "
        "times if it is wrong; the BrainBench paper reports fewer changes for right decisions."
    )


def _opposite(models: Sequence[ModelFlips]) -> str:
    """A sentence up to "its final sign is opposite"; "" where no ratio is known."""
    ratios = [ratio for model in models if (ratio := model.log_likelihood_ratio)]
    n, n_decisions = (
        sum(one.n_end_disagrees for one in ratios),
        sum(one.n_decided for one in ratios),
    )
    if not n_decisions:
        return ""
    decisions = (
        f.count(n_decisions, "test case")
        if len(models) == 1
        else f"{f.count(n_decisions, 'decision')} of {f.count(len(models), 'model')}"
    )
    return f"In {f.number(n, 0)} of {decisions} its final sign is opposite"


# --- Its figures.


def flips_figure(models: Sequence[ModelFlips], both_original: float) -> FigureText:
    """both_original: the mean share of test cases whose difference favours the original first and last."""
    opposite = _opposite(models)
    mean_of = "" if len(models) == 1 else "mean of "
    return FigureText(
        "Changes of preference along a text",
        sentences(
            _n_models(models),
            "Bars: shares of test cases by the version that the difference of cumulative perplexities (altered minus original) favours at "
            "the first differing token (or its sentence) and at the end, where it is the decision. Shares have no interval. Marks: mean "
            "number of changes of sign with 95% t intervals, by the model's decision.",
            "The log-likelihood ratio is an additional measure that is not divided by tokens. It is read from the end of the first changed "
            f"passage on. {opposite} to the decision."
            if opposite
            else "",
        ),
        f"In {f.percent(both_original)} of the test cases the difference of perplexities favours the original both at the first differing "
        f"token and at the end ({mean_of}{f.count(len(models), 'model')}).",
    )


def traces_figure(typical: Examples, *, has_sentences: bool) -> FigureText:
    every = [(e, f"by {e.level}: {PATTERN[e.pattern]}") for e in typical.examples]
    counted = "; ".join(f"{e.item} ({by}, {f.count(e.n_items, 'test case')})" for e, by in every)
    return FigureText(
        "Single test cases: development of the preference along a text",
        sentences(
            f"{typical.label}: perplexity of the altered version up to each place minus that of the original; above zero it favours the "
            "original, and at the end it is the decision. The scale is linear near zero and logarithmic on both sides of it. Shaded areas "
            "are passages in which the two versions differ, or sentences that contain one. Before the first token that differs, the "
            "difference is zero.",
            "Left by token, right by sentence." if has_sentences else "",
            f"For each pattern, the figure shows the test case whose last difference is the median: {counted}.",
        ),
        f"Traces of {typical.label}, each with its changed passages shaded: {'; '.join(f'{e.item} {by}' for e, by in every)}.",
    )


def trajectories_figure(
    models: Sequence[ModelFlips], right_nats: float | None, wrong_nats: float | None
) -> FigureText:
    """right_nats, wrong_nats: medians at the text's end by the decision, as means over the models."""
    over = "" if len(models) == 1 else f", mean over {f.count(len(models), 'model')}"
    ends = [
        f"{f.number(nats, 1)} nats where the decision is {decision}"
        for nats, decision in ((right_nats, "right"), (wrong_nats, "wrong"))
        if nats is not None
    ]
    return FigureText(
        "Log-likelihood ratio along the text",
        sentences(
            _n_models(models),
            "Lines are medians of the running log-likelihood ratio over test cases; bands are its quartiles (no confidence interval). This "
            "additional measure is the negative log-likelihood of the altered minus that of the original version so far, in nats. Values "
            "above zero favour the original. Before the first changed passage, the ratio is zero. The decision is by perplexity, which "
            "divides by tokens.",
        ),
        f"Median log-likelihood ratio at the text's end{over}: {', '.join(ends) or 'not known'}.",
    )


def _n_models(models: Sequence[ModelFlips]) -> str:
    most = f.count(max(model.n_items for model in models), "test case")
    each = "" if len(models) == 1 else " each"
    return f"n = {f.count(len(models), 'model')}, up to {most}{each}."
