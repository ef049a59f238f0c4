"""What the chapter on the integration of context shows."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from analysis.codec import need, present
from analysis.presentation import number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.integration.results import Integration, ModelIntegration
from lib import formatting as f


def page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Integration).integration)
    test = present(own.pooled.full_vs_isolated)
    seeds = sorted({swapped.seed for model in own.models for swapped in model.swapped})
    columns = [
        text_column(_("Model")),
        number_column(_("Whole abstract")),
        number_column(_("Sentences alone")),
        number_column(_("Within test cases")),
        *(number_column(_("Swapped, seed %(seed)s") % {"seed": seed}) for seed in seeds),
    ]
    rows = [_row(model, seeds) for model in own.models]
    tables = table(_("Accuracy with and without context"), columns, rows, "integration")
    return Page({"own": own, "test": test}, tables, [test.method] if test else [])


def _row(model: ModelIntegration, seeds: Sequence[int]) -> list[str]:
    swapped = dict.fromkeys(seeds, f.DASH)
    swapped |= {s.seed: f.percent(s.accuracy) for s in model.swapped}
    return [
        model.label,
        f.percent(model.full),
        f.percent(model.isolated_pooled),
        f.percent(model.isolated_item),
        *swapped.values(),
    ]
