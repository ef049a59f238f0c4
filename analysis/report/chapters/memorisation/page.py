"""What the chapter on memorisation shows."""

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from analysis.codec import present
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.memorisation.cutoffs import Cutoffs, Part
from analysis.report.chapters.memorisation.results import Memorisation, Ratios, TextKind
from lib import formatting as f

IN_TRAINING = {
    "known": _("known"),
    "likely": _("likely"),
    "unknown": _("unknown"),
    "absent": _("known not to be"),
}


def page(source: SourceResults, about: About) -> Page:
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
        text_column(gettext("Model")),
        text_column(gettext("Cut-off")),
        text_column(gettext("Released")),
        number_column(gettext("Right, published before it")),
        number_column(gettext("Right, published after it")),
        number_column(gettext("Median ratio before")),
        number_column(gettext("Median ratio after")),
        number_column(gettext("No date")),
    ]
    rows = [
        (
            model.label,
            model.cutoff or gettext("unknown"),
            model.released or gettext("unknown"),
            _right(model.before),
            _right(model.after),
            f.compact(model.before.ratio_median if model.before else None),
            f.compact(model.after.ratio_median if model.after else None),
            f.number(model.n_undated if model.cutoff else None, 0),
        )
        for model in cutoffs.models
    ]
    return table(gettext("Before and after the end of the training data"), columns, rows)


def _right(part: Part | None) -> str:
    """As "81.0% of 200"."""
    if part is None:
        return f.percent(None)
    words = {"share": f.percent(part.items.accuracy), "n": f.number(part.items.n, 0)}
    return gettext("%(share)s of %(n)s") % words


def _table(own: Ratios) -> list[Table]:
    columns = [
        text_column(gettext("Model")),
        text_column(gettext("Texts")),
        text_column(gettext("In the training data")),
        number_column(gettext("n")),
        number_column(gettext("Median ratio")),
        number_column(gettext("Quartiles")),
        number_column(gettext("As high as the anchor")),
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
    return table(gettext("zlib-perplexity ratio"), columns, rows, "memorisation_ratios")
