"""What the chapter on agreement shows."""

import math

from django.utils.translation import gettext as _

from analysis.codec import need, present
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.agreement.results import Agreement, RankAgreement
from lib import formatting as f


def page(source: SourceResults, about: About) -> Page:
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
