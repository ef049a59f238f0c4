"""What the chapter on memorisation shows."""

from django.utils.translation import gettext as _

from analysis.codec import need
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.memorisation.results import Memorisation, Ratios, TextKind
from lib import formatting as f


def page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Memorisation).memorisation)
    anchored = [model for model in own.models if model.of(TextKind.ANCHOR)]
    n_above = [
        original.n_ge_anchor
        for model in anchored
        if (original := model.of(TextKind.ORIGINAL)) and original.n_ge_anchor is not None
    ]
    context = {
        "anchor_label": own.anchor_label if anchored else None,
        "n_compared": len(n_above),
        "n_models_above": sum(n > 0 for n in n_above),
    }
    return Page(context, _table(own), [own.method])


def _table(own: Ratios) -> list[Table]:
    columns = [
        text_column(_("Model")),
        text_column(_("Texts")),
        number_column(_("n")),
        number_column(_("Median ratio")),
        number_column(_("Quartiles")),
        number_column(_("As high as the anchor")),
    ]
    rows = [
        (
            model.label,
            texts.label,
            f.number(texts.spread.n, 0),
            f.compact(texts.spread.median),
            f.compact_interval((texts.spread.q1, texts.spread.q3)),
            f.number(texts.n_ge_anchor, 0),
        )
        for model in own.models
        for texts in model.sources
    ]
    return table(_("zlib-perplexity ratio"), columns, rows, "memorisation_ratios")
