"""What the chapter on agreement shows."""

import math

from django.utils.translation import gettext as _

from analysis import columns as c
from analysis.codec import need, present
from analysis.data.filters import CHOICE
from analysis.presentation import Table
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.models.results import Agreement, Integration, RankAgreement


def agreement_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Agreement).agreement)
    counted = [known.n for model in own.models_human if (known := model.known)]
    people = present(own.noise_ceiling)
    reliability = people.halves.spearman_brown if people else math.nan
    context = {
        "own": own,
        "among": present(own.model_model),
        "people": people if math.isfinite(reliability) else None,
        "is_reliable": reliability > 0,
        "is_of_all": all(n == own.n_items for n in counted),
        "n_asked": sum(model.method == CHOICE for model in own.models_human),
    }
    methods = [own.method, *([people.halves.method] if people else [])]
    return Page(context, _table(own), methods)


def _table(own: RankAgreement) -> list[Table]:
    columns = (
        c.text(_("Model"), "label"),
        c.text(_("Family"), "family"),
        c.count(_("Test cases"), "correlation.n"),
        c.coefficient(_("Spearman's rho"), "correlation.rho"),
        c.coefficient_ci(_("95% CI"), "correlation.ci95"),
        c.p_value("p", "correlation.p"),
    )
    rows = [model for model in own.models_human if present(model.correlation)]
    caption = _("Each model's difficulties compared with human accuracy")
    return c.page_table(caption, columns, rows, "agreement_matrix")


# --- What the chapter on the integration of context shows.


def integration_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Integration).integration)
    test = present(own.pooled.full_vs_isolated)
    seeds = sorted({swapped.seed for model in own.models for swapped in model.swapped})
    columns = (
        c.text(_("Model"), "label"),
        c.percent(_("Whole abstract"), "full"),
        c.percent(_("Sentences alone"), "isolated_pooled"),
        c.percent(_("Within test cases"), "isolated_item"),
        *(
            c.percent(_("Swapped, seed %(seed)s") % {"seed": seed}, _swapped(seed))
            for seed in seeds
        ),
    )
    tables = c.page_table(
        _("Accuracy with and without context"), columns, own.models, "integration"
    )
    return Page({"own": own, "test": test}, tables, [test.method] if test else [])


def _swapped(seed: int) -> c.Value:
    """A model's accuracy on the abstracts whose results this seed swapped."""
    return lambda model: next((s.accuracy for s in model.swapped if s.seed == seed), None)
