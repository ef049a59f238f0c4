"""What the chapter on the mixed model shows."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from analysis import columns as c
from analysis.codec import need
from analysis.presentation import Table
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.mixed_model.results import Mixed, Power, PowerAnalysis, two_digits
from analysis.stats.power import Target
from lib import formatting as f
from lib.levels import ENOUGH, LEVEL

NONE_FOUND = 0.005  # a standard deviation below it is shown as 0


def mixed_model_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Mixed).mixed_model)
    has_no_variation = min(own.sd_participants, own.sd_items) < NONE_FOUND
    may_be_0 = own.sd_participants > 0 and own.lrt.participants.p >= LEVEL
    context = {
        "own": own,
        "has_no_variation": has_no_variation,
        "is_few": min(own.n_participants, own.n_items) < ENOUGH,
        "without_participants": own.lrt.participants.without if may_be_0 else None,
    }
    columns = (c.text(_("Parameter"), "0"), c.number(_("Estimate"), "1"), c.ci(_("95% CI"), "2"))
    rows = (
        (_("Intercept, log-odds"), own.intercept, own.intercept_ci95),
        (_("SD of participants, log-odds"), own.sd_participants, own.sd_participants_ci95),
        (_("SD of test cases, log-odds"), own.sd_items, own.sd_items_ci95),
    )
    tables = c.page_table(_("Mixed-effects logistic model"), columns, rows)
    return Page(context, tables, [own.method, own.items_share.method])


# --- What the chapter on power shows.


@dataclass(frozen=True)
class Aim:
    """A wanted width in percentage points, and what it takes, to two digits; None where out of reach."""

    points: float
    n_participants: int | None
    n_participants_low: int | None
    n_participants_high: int | None
    n_items_needed: int | None
    is_out_of_reach: bool

    @classmethod
    def of(cls, target: Target, own: PowerAnalysis) -> "Aim":
        return cls(
            100 * target.width,
            two_digits(target.n_participants),
            two_digits(target.n_participants_low),
            two_digits(target.n_participants_high),
            two_digits(target.n_items_needed),
            own.is_out_of_reach(target),
        )


def power_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Power).power)
    aims = [Aim.of(target, own) for target in own.targets]
    has_ends = own.fitted.sd_items_ci95 is not None
    context = {
        "own": own,
        "reached": [aim for aim in aims if not aim.is_out_of_reach],
        "out_of_reach": [aim for aim in aims if aim.is_out_of_reach],
        "has_ends": has_ends,
    }
    return Page(context, [*_targets(aims, has_ends), *_curve(own)], [own.method])


def _targets(aims: list[Aim], has_ends: bool) -> list[Table]:
    columns = (
        c.count(_("Width wanted, points"), "points"),
        c.shown(_("Participants"), lambda row: _participants(row.n_participants)),
        c.shown(
            _("If test cases vary least (lower end)"),
            lambda row: _participants(row.n_participants_low) if has_ends else f.DASH,
        ),
        c.shown(
            _("If they vary most (upper end)"),
            lambda row: _participants(row.n_participants_high) if has_ends else f.DASH,
        ),
        c.count(_("Test cases needed instead"), "n_items_needed"),
    )
    rows = aims
    return c.page_table(
        _("Participants needed for a given width, by the variance formula"), columns, rows
    )


def _participants(n: int | None) -> str:
    return _("out of reach") if n is None else f.number(n, 0)


def _curve(own: PowerAnalysis) -> list[Table]:
    columns = (
        c.count(_("Participants"), "n_participants"),
        c.shown(_("Width of the two-way 95% CI, points"), lambda row: _points(row.ci_width)),
        c.shown(_("If test cases vary least (lower end)"), lambda row: _points(row.ci_width_low)),
        c.shown(_("If they vary most (upper end)"), lambda row: _points(row.ci_width_high)),
    )
    caption = _("Width of the interval, by the variance formula")
    return c.page_table(caption, columns, own.curve, "power_curve")


def _points(width: float | None) -> str:
    return f.DASH if width is None else f.number(100 * width, 1)
