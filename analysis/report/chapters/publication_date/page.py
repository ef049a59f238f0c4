"""What the chapter on publication dates shows."""

from django.utils.translation import gettext as _

from analysis.codec import need
from analysis.presentation import number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.publication_date.results import PublicationDate
from lib import formatting as f


def page(source: SourceResults, about: About) -> Page:
    models = need(source.of(PublicationDate).publication_date)
    known = [(model, model.known) for model in models if model.known]
    rhos = [found.rho for _model, found in known]
    context = {
        "only": known[0][1] if len(known) == 1 else None,
        "n_models": len(known),
        "lowest": min(rhos, default=None),
        "highest": max(rhos, default=None),
        "n_clear": sum(f.lies(found.ci95) in ("above", "below") for _model, found in known),
    }
    columns = [
        text_column(_("Model")),
        number_column(_("Test cases")),
        number_column(_("Spearman's rho")),
        number_column(_("95% CI")),
        number_column("p"),
    ]
    rows = [
        (
            model.label,
            f.number(found.n, 0),
            f.coefficient(found.rho),
            f.coefficient_interval(found.ci95),
            f.p_cell(found.p),
        )
        for model, found in known
    ]
    caption = _("Publication date and difficulty")
    return Page(context, table(caption, columns, rows, "publication_date_items"))
