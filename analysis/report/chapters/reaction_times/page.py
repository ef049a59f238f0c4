"""What the chapter on reaction times shows."""

from django.utils.translation import gettext as _

from analysis.codec import need
from analysis.presentation import number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.reaction_times.results import ReactionTimes
from lib import formatting as f


def page(source: SourceResults, about: About) -> Page:
    own = need(source.of(ReactionTimes).reaction_times)
    columns = [
        text_column(_("Answers")),
        number_column(_("n")),
        number_column(_("Median, s")),
        number_column(_("Quartiles, s")),
    ]
    rows = [
        (
            _("right") if group.is_correct else _("wrong"),
            f.number(group.n, 0),
            f.seconds(group.median),
            _("%(low)s to %(high)s") % {"low": f.seconds(group.q1), "high": f.seconds(group.q3)},
        )
        for group in own.by_correct
    ]
    caption = _("Reaction times by answer")
    tables = table(caption, columns, rows, "reaction_times_histogram")
    return Page({"own": own}, tables, [own.method])
