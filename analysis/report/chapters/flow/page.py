"""What the chapter on the flow of participants shows."""

from django.utils.translation import gettext as _

from analysis.codec import need
from analysis.presentation import number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.flow.results import Code, Flow
from lib import formatting as f

FIRST = (Code.RECRUITED, Code.CONSENTED, Code.STARTED)


def page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Flow).flow)
    n = {step.code: step.n for step in own.steps}
    context = {
        "own": own,
        "n_analysed": n[Code.ANALYSED],
        "n_began": next((n[code] for code in FIRST if n.get(code)), None),
    }
    tables = [
        *table(
            _("Participants"),
            [text_column(_("Step")), number_column(_("People"))],
            [(step.label, f.number(step.n, 0)) for step in own.steps],
            "flow_steps",
        ),
        *table(
            _("Trials that are not analysed"),
            [text_column(_("Reason")), number_column(_("Trials"))],
            [(reason.label, f.number(reason.n, 0)) for reason in own.trials.excluded],
            "flow_trials",
        ),
    ]
    return Page(context, tables, [own.method])
