"""What the chapter on memorisation shows."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from analysis import columns as c
from analysis.codec import present
from analysis.presentation import Table
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
        "n_none_before": sum(m.before is None for m in cutoffs.known),
    }


def _cutoff_table(cutoffs: Cutoffs) -> list[Table]:
    columns = (
        c.text(_("Model"), "label"),
        c.text(_("Cut-off"), lambda row: row.cutoff or _("unknown")),
        c.text(_("Released"), lambda row: row.released or _("unknown")),
        c.shown(_("Right, published before the cut-off"), lambda row: _right(row.before)),
        c.shown(_("Right, published after the cut-off"), lambda row: _right(row.after)),
        c.compact(_("Median ratio before"), "before.ratio_median"),
        c.compact(_("Median ratio after"), "after.ratio_median"),
        c.count(_("No date"), lambda row: row.n_undated if row.cutoff else None),
    )
    return c.page_table(_("Before and after the end of the training data"), columns, cutoffs.models)


def _right(part: CutoffPart | None) -> str:
    """As "81.0% of 200"."""
    if part is None:
        return f.percent(None)
    words = {"share": f.percent(part.items.accuracy), "n": f.number(part.items.n, 0)}
    return _("%(share)s of %(n)s") % words


def _table(own: Ratios) -> list[Table]:
    columns = (
        c.text(_("Model"), "0.label"),
        c.text(_("Texts"), "1.label"),
        c.text(_("In the training data"), lambda row: IN_TRAINING.get(row[1].in_training)),
        c.count(_("n"), "1.spread.n"),
        c.compact(_("Median ratio"), "1.spread.median"),
        c.compact_ci(_("Quartiles"), lambda row: (row[1].spread.q1, row[1].spread.q3)),
        c.count(_("At least as high as the reference text"), "1.n_ge_anchor"),
    )
    rows = [(model, texts) for model in own.models for texts in model.sources]
    return c.page_table(_("zlib-perplexity ratio"), columns, rows, "memorisation_ratios")


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
        "n_too_few": directions.count(DateDirection.TOO_FEW),
        "people": people,
    }
    columns = (
        c.text(_("Model"), "0.label"),
        c.count(_("Test cases"), "1.n"),
        c.coefficient(_("Spearman's rho"), "1.rho"),
        c.coefficient_ci(_("95% CI"), "1.ci95"),
        c.p_value("p", "1.p"),
        c.p_value(_("p after Holm"), "0.holm_p"),
    )
    caption = _("Publication date and difficulty")
    methods = [one.method for one in (together, people and people.slope) if one]
    return Page(context, c.page_table(caption, columns, known, "publication_date_items"), methods)
