"""What the chapter on agreement shows."""

import math
from collections.abc import Sequence

from django.utils.translation import gettext as _

from analysis.codec import need, present
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.models.results import (
    Agreement,
    Integration,
    ModelIntegration,
    RankAgreement,
)
from lib import formatting as f


def agreement_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Agreement).agreement)
    people = present(own.noise_ceiling)
    reliability = people.halves.spearman_brown if people else math.nan
    context = {
        "own": own,
        "people": people if math.isfinite(reliability) else None,
        "is_reliable": reliability > 0,
        "n_models": len(own.models_human),
    }
    methods = [own.method, *([people.halves.method] if people else [])]
    return Page(context, _table(own), methods)


def _table(own: RankAgreement) -> list[Table]:
    columns = [
        text_column(_("Model")),
        text_column(_("Family")),
        number_column(_("Test cases")),
        number_column(_("Spearman's rho")),
        number_column(_("95% CI")),
        number_column("p"),
    ]
    rows = [
        (
            model.label,
            model.family or f.DASH,
            f.number(found.n, 0),
            f.coefficient(found.rho),
            f.coefficient_interval(found.ci95),
            f.p_cell(found.p),
        )
        for model in own.models_human
        if (found := present(model.correlation))
    ]
    caption = _("Each model's difficulties against human accuracy")
    return table(caption, columns, rows, "agreement_matrix")


# --- What the chapter on the integration of context shows.


def integration_page(source: SourceResults, about: About) -> Page:
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
