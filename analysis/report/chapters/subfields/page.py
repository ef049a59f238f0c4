"""What the chapter on subfields shows."""

from django.utils.translation import gettext as _

from analysis.codec import present
from analysis.presentation import number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.subfields.results import (
    ModelsMean,
    SubfieldAccuracy,
    Subfields,
    Trials,
)
from lib import formatting as f


def page(source: SourceResults, about: About) -> Page:
    found = present(source.of(Subfields).subfields) or ()
    judged = sorted(
        ((s.humans.share.accuracy, s) for s in found if s.humans), key=lambda pair: pair[0]
    )
    compared = [
        s.models_mean.over_models.mean > right for right, s in judged if s.models_mean is not None
    ]
    context = {
        "lowest": judged[0][1] if len(judged) > 1 else None,
        "highest": judged[-1][1] if len(judged) > 1 else None,
        "n_compared": len(compared),
        "n_above": sum(compared),
        "has_one_model": len(present(source.of(Accuracy).models) or ()) == 1,
    }
    columns = [
        text_column(_("Subfield")),
        number_column(_("Test cases")),
        number_column(_("Human trials")),
        number_column(_("Humans")),
        number_column(_("95% CI")),
        number_column(_("Models, mean")),
        number_column(_("SD")),
        number_column(_("Models below humans")),
    ]
    rows = [_row(s) for s in found]
    return Page(context, table(_("Accuracy by subfield"), columns, rows, "subfields"))


def _row(found: SubfieldAccuracy) -> tuple[str, ...]:
    return (
        found.subfield or _("not stated"),
        f.number(found.n_items, 0),
        *_humans(found.humans),
        *_models(found.models_mean),
        f.number(found.n_models_below_humans, 0),
    )


def _humans(found: Trials | None) -> tuple[str, str, str]:
    if found is None:
        return f.DASH, f.DASH, f.DASH
    share = found.share
    return f.number(share.n, 0), f.percent(share.accuracy), f.share_interval(share.ci95)


def _models(found: ModelsMean | None) -> tuple[str, str]:
    if found is None:
        return f.DASH, f.DASH
    return f.percent(found.over_models.mean), f.percent(found.over_models.sd)
