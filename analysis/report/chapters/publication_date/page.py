"""What the chapter on publication dates shows."""

from django.utils.translation import gettext as _

from analysis.codec import present
from analysis.presentation import number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.publication_date.results import PublicationDate
from analysis.stats.publication_date import DateDirection
from lib import formatting as f


def page(source: SourceResults, about: About) -> Page:
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
