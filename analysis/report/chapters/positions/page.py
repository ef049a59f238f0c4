"""What the chapter on positions shows."""

from django.utils.translation import gettext as _

from analysis.codec import present
from analysis.presentation import number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.positions.results import Positions
from lib import formatting as f


def page(source: SourceResults, about: About) -> Page:
    found = present(source.of(Positions).positions) or ()
    context = {
        "positions": found,
        "lowest": min((p.trials.accuracy for p in found), default=None),
        "highest": max((p.trials.accuracy for p in found), default=None),
    }
    columns = [
        text_column(_("Position")),
        number_column(_("Participants")),
        number_column(_("Trials")),
        number_column(_("Accuracy")),
        number_column(_("95% CI")),
    ]
    rows = [
        (
            p.position,
            f.number(p.n_participants, 0),
            f.number(p.trials.n, 0),
            f.percent(p.trials.accuracy),
            f.share_interval(p.trials.ci95),
        )
        for p in found
    ]
    return Page(context, table(_("Accuracy by position"), columns, rows, "positions"))
