"""What the chapter on the mixed model shows."""

from django.utils.translation import gettext as _

from analysis.codec import need
from analysis.presentation import number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.mixed_model.results import Mixed
from lib import formatting as f

NONE_FOUND = 0.005  # a standard deviation below it is shown as 0


def page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Mixed).mixed_model)
    has_no_variation = min(own.sd_participants, own.sd_items) < NONE_FOUND
    may_be_0 = own.sd_participants and (own.sd_participants_ci95 or (None,))[0] == 0
    context = {
        "own": own,
        "has_no_variation": has_no_variation,
        "without_participants": own.lrt.participants.without if may_be_0 else None,
    }
    columns = [
        text_column(_("Parameter")),
        number_column(_("Estimate")),
        number_column(_("95% CI")),
    ]
    rows = [
        (name, f.number(estimate), f.interval(ci95))
        for name, estimate, ci95 in (
            (_("Intercept, log-odds"), own.intercept, own.intercept_ci95),
            (_("SD of participants, log-odds"), own.sd_participants, own.sd_participants_ci95),
            (_("SD of test cases, log-odds"), own.sd_items, own.sd_items_ci95),
        )
    ]
    return Page(
        context,
        table(_("Mixed-effects logistic model"), columns, rows),
        [own.method],
    )
