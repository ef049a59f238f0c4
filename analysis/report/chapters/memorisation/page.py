"""What the chapter on memorisation shows."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from analysis.codec import present
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.memorisation.results import (
    CutoffPart,
    Cutoffs,
    Memorisation,
    PublicationDate,
    Ratios,
    TextKind,
)
from analysis.stats.publication_date import DateDirection
from lib import formatting as f

IN_TRAINING = {
    "known": lazy("known"),
    "likely": lazy("likely"),
    "unknown": lazy("unknown"),
    "absent": lazy("known not to be"),
}


def memorisation_page(source: SourceResults, about: About) -> Page:
    found = source.of(Memorisation)
    own, cutoffs = present(found.memorisation), present(found.cutoffs)
    context: dict[str, Any] = {"has_ratios": own is not None, "cutoffs": None}
    if own:
        context |= _compared(own)
    if cutoffs:
        context["cutoffs"] = _split(cutoffs)
    tables = [*(_table(own) if own else ()), *(_cutoff_table(cutoffs) if cutoffs else ())]
    return Page(context, tables, [part.method for part in (own, cutoffs) if part])


def _compared(own: Ratios) -> dict[str, Any]:
    anchored = [model for model in own.models if model.of(TextKind.ANCHOR)]
    n_above = [
        original.n_ge_anchor
        for model in anchored
        if (original := model.of(TextKind.ORIGINAL)) and original.n_ge_anchor is not None
    ]
    return {
        "anchor_label": own.anchor_label if anchored else None,
        "n_compared": len(n_above),
        "n_models_above": sum(n > 0 for n in n_above),
    }


def _split(cutoffs: Cutoffs) -> dict[str, int]:
    return {
        "n_known": len(cutoffs.known),
        "n_unknown": len(cutoffs.models) - len(cutoffs.known),
        "n_all_after": sum(m.before is None and m.after is not None for m in cutoffs.known),
    }


def _cutoff_table(cutoffs: Cutoffs) -> list[Table]:
    columns = [
        text_column(_("Model")),
        text_column(_("Cut-off")),
        text_column(_("Released")),
        number_column(_("Right, published before it")),
        number_column(_("Right, published after it")),
        number_column(_("Median ratio before")),
        number_column(_("Median ratio after")),
        number_column(_("No date")),
    ]
    rows = [
        (
            model.label,
            model.cutoff or _("unknown"),
            model.released or _("unknown"),
            _right(model.before),
            _right(model.after),
            f.compact(model.before.ratio_median if model.before else None),
            f.compact(model.after.ratio_median if model.after else None),
            f.number(model.n_undated if model.cutoff else None, 0),
        )
        for model in cutoffs.models
    ]
    return table(_("Before and after the end of the training data"), columns, rows)


def _right(part: CutoffPart | None) -> str:
    """As "81.0% of 200"."""
    if part is None:
        return f.percent(None)
    words = {"share": f.percent(part.items.accuracy), "n": f.number(part.items.n, 0)}
    return _("%(share)s of %(n)s") % words


def _table(own: Ratios) -> list[Table]:
    columns = [
        text_column(_("Model")),
        text_column(_("Texts")),
        text_column(_("In the training data")),
        number_column(_("n")),
        number_column(_("Median ratio")),
        number_column(_("Quartiles")),
        number_column(_("As high as the anchor")),
    ]
    rows = [
        (
            model.label,
            texts.label,
            str(IN_TRAINING.get(texts.in_training or "", f.number(None))),
            f.number(texts.spread.n, 0),
            f.compact(texts.spread.median),
            f.compact_interval((texts.spread.q1, texts.spread.q3)),
            f.number(texts.n_ge_anchor, 0),
        )
        for model in own.models
        for texts in model.sources
    ]
    return table(_("zlib-perplexity ratio"), columns, rows, "memorisation_ratios")


# --- What the chapter on publication dates shows.


def publication_date_page(source: SourceResults, about: About) -> Page:
    own = source.of(PublicationDate)
    models = present(own.publication_date) or ()
    known = [(model, model.known) for model in models if model.known]
    rhos = [found.rho for _model, found in known]
    directions = [model.direction for model in models]
    together, people = present(own.publication_date_tests), present(own.publication_date_people)
    context = {
        "only": known[0][1] if len(known) == 1 else None,
        "n_models": len(known),
        "lowest": min(rhos, default=None),
        "highest": max(rhos, default=None),
        "family": together,
        "n_easier": directions.count(DateDirection.NEWER_EASIER),
        "n_harder": directions.count(DateDirection.NEWER_HARDER),
        "people": people,
    }
    columns = [
        text_column(_("Model")),
        number_column(_("Test cases")),
        number_column(_("Spearman's rho")),
        number_column(_("95% CI")),
        number_column("p"),
        number_column(_("p after Holm")),
    ]
    rows = [
        (
            model.label,
            f.number(found.n, 0),
            f.coefficient(found.rho),
            f.coefficient_interval(found.ci95),
            f.p_cell(found.p),
            f.p_cell(model.holm_p),
        )
        for model, found in known
    ]
    caption = _("Publication date and difficulty")
    methods = [one.method for one in (together, people and people.slope) if one]
    return Page(context, table(caption, columns, rows, "publication_date_items"), methods)
