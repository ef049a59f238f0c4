"""The chapters on memorisation and on publication dates, as sentences, tables and captions."""

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis import columns as c
from analysis.charts.texts import HOLLOW
from analysis.codec import present
from analysis.presentation import FigureText, paragraphs, sentences
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.memorisation.results import (
    CutoffPart,
    Memorisation,
    ModelDates,
    ModelRatios,
    PublicationDate,
    Ratios,
    TextKind,
)
from analysis.report.families import family_sentences
from analysis.stats.families import Family
from analysis.stats.publication_date import DateCorrelation, DateDirection
from lib import formatting as f

IN_TRAINING = {
    "known": "known",
    "likely": "likely",
    "unknown": "unknown",
    "absent": "known not to be",
}
MOST_NAMED = 5  # models in the figure's alternative text
NAMED_TEXTS = {
    TextKind.ORIGINAL: "the original versions of the test cases",
    TextKind.ANCHOR: "the text that models are likely to know by heart",
}
RHO = "\N{GREEK SMALL LETTER RHO}"


def memorisation_page(source: SourceResults, about: About) -> Page:
    found = source.of(Memorisation)
    own, cutoffs = present(found.memorisation), present(found.cutoffs)
    known_by_heart, before, tables = "", "", []
    if own:
        known_by_heart = _known_by_heart(own)
        rows = [(model, texts) for model in own.models for texts in model.sources]
        tables += c.page_table("zlib-perplexity ratio", RATIOS, rows, "memorisation_ratios")
    if cutoffs:
        n, n_unknown = len(cutoffs.known), len(cutoffs.models) - len(cutoffs.known)
        n_none = sum(model.before is None for model in cutoffs.known)
        models = f.count(n, "model")
        if n_none == n:
            published = (
                f"For {models}, it is known when the training data end, and no test case that was scored is known to have been published by "
                "then."
            )
        elif n_none:
            published = (
                f"Of {models} whose training data end on a known date, {f.number(n_none, 0)} {f.verb(n_none, 'was', 'were')} scored on no test "
                "case that is known to have been published by then."
            )
        elif n == 1:
            published = f"The training data of {models} end on a known date, and this model was scored on test cases that were published by then."
        else:
            published = f"Each of {models} whose training data end on a known date was scored on test cases that were published by that date."
        before = sentences(
            published,
            f"For {f.count(n_unknown, 'model')}, it is not known when the training data end."
            if n_unknown
            else "",
        )
        caption = "Before and after the end of the training data"
        tables += c.page_table(caption, CUTOFFS, cutoffs.models)
    return Page(
        text=paragraphs(known_by_heart, before),
        tables=tables,
        methods=[part.method for part in (own, cutoffs) if part],
        finding=known_by_heart,
    )


def _known_by_heart(own: Ratios) -> str:
    """The test cases beside the text that models know by heart."""
    anchored = [model for model in own.models if model.of(TextKind.ANCHOR)]
    if not (anchored and own.anchor_label):
        return (
            "No text that models know by heart was scored for comparison, so the ratios of compressed length to perplexity show only "
            "which texts are better known than others."
        )
    n_above = [
        original.n_ge_anchor
        for model in anchored
        if (original := model.of(TextKind.ORIGINAL)) and original.n_ge_anchor is not None
    ]
    if not n_above:
        return (
            f"Models scored a text that they are likely to know by heart ({own.anchor_label}), but there is nothing to compare it with: no "
            "test case that they scored has a known compressed length."
        )
    n_as_high = sum(n > 0 for n in n_above)
    if n_as_high:
        some = "this model" if len(n_above) == 1 else f"{f.number(n_as_high, 0)} of them"
        as_high = (
            f"For {some}, the ratio of compressed length to perplexity is at least as high for the original of at least one test case as "
            "for this text."
        )
    else:
        as_high = "The ratio of compressed length to perplexity is higher for this text than for the original of every test case."
    return sentences(
        f"{f.count(len(n_above), 'model')} also scored a text that models are likely to know by heart ({own.anchor_label}).",
        as_high,
        "A high ratio is a sign of memorisation; a low ratio does not rule it out.",
    )


RATIOS = (
    c.text("Model", "0.label"),
    c.text("Texts", "1.label"),
    c.text("In the training data", lambda row: IN_TRAINING.get(row[1].in_training)),
    c.count("n", "1.spread.n"),
    c.compact("Median ratio", "1.spread.median"),
    c.compact_ci("Quartiles", lambda row: (row[1].spread.q1, row[1].spread.q3)),
    c.count("At least as high as the reference text", "1.n_ge_anchor"),
)
CUTOFFS = (
    c.text("Model", "label"),
    c.text("Cut-off", lambda row: row.cutoff or "unknown"),
    c.text("Released", lambda row: row.released or "unknown"),
    c.shown("Right, published before the cut-off", lambda row: _right(row.before)),
    c.shown("Right, published after the cut-off", lambda row: _right(row.after)),
    c.compact("Median ratio before", "before.ratio_median"),
    c.compact("Median ratio after", "after.ratio_median"),
    c.count("No date", lambda row: row.n_undated if row.cutoff else None),
)


def _right(part: CutoffPart | None) -> str:
    """As "81.0% of 200"."""
    if part is None:
        return f.DASH
    return f"{f.percent(part.items.accuracy)} of {f.number(part.items.n, 0)}"


def memorisation_figure(
    drawn: pd.DataFrame,
    models: Sequence[ModelRatios],
    names: Mapping[str, str],
    anchor_label: str | None,
    n_detailed: int,
) -> FigureText:
    """drawn: a row of each source of texts in the figure, with kind, n and is_chat. n_detailed: models with all their texts."""
    most = drawn.groupby("kind")["n"].max().reindex(list(TextKind), fill_value=0)
    n_items, n_texts = max(most[TextKind.ORIGINAL], most[TextKind.ALTERED]), most[TextKind.CORPUS]
    readers = [model for model in models if model.has_references]
    named = readers or models
    n_more = len(named) - MOST_NAMED
    medians = []
    for model in named[:MOST_NAMED]:
        told = [
            f"{f.compact(found.spread.median)} for {of}"
            for kind, of in NAMED_TEXTS.items()
            if (found := model.of(kind))
        ]
        medians.append(f"{names[model.name]}, {' against '.join(told) or 'reference texts only'}")
    if n_more > 0:
        medians.append(f"and {f.count(n_more, 'more model')}")
    n = [f.count(len(models), "model")]
    if n_items:
        n.append(f"up to {f.count(n_items, 'test case')}")
    if n_texts:
        n.append(f"up to {f.count(n_texts, 'text')} per corpus")
    return FigureText(
        "Signs of memorised texts",
        sentences(
            f"n = {'; '.join(n)}. Ratio: zlib-compressed length in bytes over perplexity, text by text, on a logarithmic axis. Dots are "
            "medians, thick lines quartiles (no confidence interval), thin lines the range.",
            f"The diamond: {anchor_label}, a text that models are likely to know by heart."
            if most[TextKind.ANCHOR] > 0
            else "",
            _shown_texts(n_detailed, len(readers), len(models)),
            HOLLOW if drawn["is_chat"].any() else "",
        ),
        f"Median ratios: {'; '.join(medians)}.",
    )


def _shown_texts(n_detailed: int, n_readers: int, n_models: int) -> str:
    """Sentence on the models whose texts the figure shows, where these are not all models."""
    if not n_detailed:
        return "The figure shows only the original versions of the test cases."
    n_rest = n_models - n_detailed
    if not n_rest:
        return ""
    others = "other" if n_rest == 1 else f"other {f.number(n_rest, 0)}"
    readers = "model" if n_readers == 1 else f"{n_readers} models"
    if n_detailed < n_readers:
        readers = f"first {n_detailed} of the {readers}"
    return (
        f"The figure shows all texts for the {readers} that scored reference texts, and only the original versions of the test cases for "
        f"the {others}."
    )


# --- Publication dates.


DATES = (
    c.text("Model", "0.label"),
    c.count("Test cases", "1.n"),
    c.coefficient("Spearman's rho", "1.rho"),
    c.coefficient_ci("95% CI", "1.ci95"),
    c.p_value("p", "1.p"),
    c.p_value("p after Holm", "0.holm_p"),
)
FOR_PEOPLE = {
    DateDirection.NEWER_EASIER: "newer test cases are easier",
    DateDirection.NEWER_HARDER: "newer test cases are harder",
    DateDirection.TOO_FEW: "there are too few participants or test cases to say whether the date matters",
    DateDirection.UNCLEAR: "the date shows no clear direction",
}
FOR_ONE = {
    DateDirection.NEWER_EASIER: "; newer test cases are easier for it",
    DateDirection.NEWER_HARDER: "; newer test cases are harder for it",
    DateDirection.UNCLEAR: "; this is no clear direction",
    DateDirection.TOO_FEW: "; there are too few test cases to say whether the date matters",
}


def publication_date_page(source: SourceResults, about: About) -> Page:
    own = source.of(PublicationDate)
    models = present(own.publication_date) or ()
    known = [(model, found) for model in models if (found := model.known)]
    together, people = present(own.publication_date_tests), present(own.publication_date_people)
    finding = _correlations([found for _model, found in known], models, together)
    undefined = [model.label for model in models if not model.known]
    without = (
        f"There is no correlation for {f.listing(undefined)}, because fewer than three test cases have a date and a difficulty, or one of these "
        "does not vary."
    )
    of_people = ""
    if people:
        slope = people.slope
        of_people = (
            f"For people, {FOR_PEOPLE[people.direction]} (slope over trials {f.number(slope.slope)} log-odds per year, 95% CI "
            f"{f.interval(slope.ci95)}, {f.p_value(slope.p)}, after Holm {f.p_value(people.holm_p)}, {f.count(slope.n, 'trial')})."
        )
    caption = "Publication date and difficulty"
    return Page(
        text=paragraphs(finding, without if models and undefined else "", of_people),
        tables=c.page_table(caption, DATES, known, "publication_date_items"),
        methods=[one.method for one in (together, people and people.slope) if one],
        finding=finding,
    )


def _correlations(
    known: Sequence[DateCorrelation], models: Sequence[ModelDates], together: Family | None
) -> str:
    if not known:
        return ""
    if len(known) == 1:
        (only,) = known
        rho = f.with_interval(f.coefficient(only.rho), f.coefficient_interval(only.ci95))
        model = next(model for model in models if model.known is only)
        corrected = f", after Holm {f.p_value(model.holm_p)}" if f.is_known(model.holm_p) else ""
        return (
            "The rank correlation of publication date and difficulty for the model (scored so that larger values mean easier) is "
            f"{rho}, {f.count(only.n, 'test case')}{corrected}{FOR_ONE[model.direction]}."
        )
    rhos = [one.rho for one in known]
    directions = [model.direction for model in models]
    n_easier = directions.count(DateDirection.NEWER_EASIER)
    n_harder = directions.count(DateDirection.NEWER_HARDER)
    n_too_few = directions.count(DateDirection.TOO_FEW)
    clear = [
        f"Newer test cases are easier for {f.count(n_easier, 'model')}." if n_easier else "",
        f"Newer test cases are harder for {f.count(n_harder, 'model')}." if n_harder else "",
        f"For {f.count(n_too_few, 'model')}, there are too few test cases to say whether the date matters."
        if n_too_few
        else "",
    ]
    unclear = "The models therefore show no clear direction."
    return sentences(
        "Rank correlations of publication date and difficulty for the model (scored so that larger values mean easier) lie between "
        f"{f.coefficient(min(rhos))} and {f.coefficient(max(rhos))} in {f.count(len(known), 'model')}.",
        sentences(family_sentences(together), *(clear if any(clear) else [unclear]))
        if together
        else "",
    )


def publication_date_figure(
    models: Sequence[ModelDates], n_items: int, most_each: int | None
) -> FigureText:
    """n_items: the most of a model. most_each: how many of them a panel shows, None where it shows all."""
    rhos = [found.rho for model in models if (found := model.known)]
    span = "not defined"
    if rhos:
        low, high = f.number(min(rhos)), f.number(max(rhos))
        span = low if low == high else f"from {low} to {high}"
    return FigureText(
        "Difficulty over the date of publication",
        sentences(
            f"n = up to {f.count(n_items, 'test case')} per model, {f.count(len(models), 'model')}. ΔPPL: perplexity of the altered minus that "
            "of the original text; larger values mean easier. Outliers are drawn at the edge. Blue: the model was right because the "
            f"original had the lower perplexity; grey: the model was wrong. {RHO}: Spearman's rank correlation with "
            "its 95% interval (Bonett and Wright's).",
            f"Every panel shows up to {f.number(most_each, 0)} of the test cases, evenly spaced."
            if most_each
            else "",
        ),
        f"Rank correlations of publication date and difficulty in {f.count(len(rhos) or len(models), 'model')}: {span}.",
    )
