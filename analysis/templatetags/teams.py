"""Names of teams and members in templates: `{% load teams %}`."""

from collections.abc import Sequence

from django import template
from django.utils.translation import gettext, ngettext

from analysis.stats.arrays import Interval
from analysis.teams import names
from analysis.teams.results import Member, Team, TeamResult, Tried
from lib.formatting import is_known, number, p_value, percent, points

register = template.Library()

register.filter("called", names.called)
register.filter("the_member", names.the_member)
register.filter("method_name", names.method_name)
register.filter("equally", names.equally)


@register.filter
def short(team: Team, every: Sequence[Member]) -> str:
    """`{{ team|short:members }}`, where all members have been named."""
    return names.short(team, every)


@register.filter
def rows(n: int, result: TeamResult) -> str:
    """A number of what a result's rows are: `{{ entry.n|rows:result }}`."""
    if result.is_judged:
        text = ngettext("%(n)s trial", "%(n)s trials", n)
    else:
        text = ngettext("%(n)s test case", "%(n)s test cases", n)
    return text % {"n": number(n, 0)}


@register.filter
def row_noun(result: TeamResult) -> str:
    """What a result's rows are: judged trials or, where no one judged, test cases."""
    return gettext("trials") if result.is_judged else gettext("test cases")


@register.filter
def after_holm(p: float | None, n_tests: int | None) -> str:
    """A corrected p, and over how many tests where there are several; "" where there is none.

    >>> from lib.formatting import NO_BREAK
    >>> after_holm(0.03, 2).replace(NO_BREAK, " "), after_holm(None, None)
    ("p = .030 after Holm's correction over 2 comparisons", '')
    """
    if p is None:
        return ""
    if not n_tests or n_tests == 1:
        return p_value(p)
    words = gettext("%(p)s after Holm's correction over %(n)s comparisons")
    return words % {"p": p_value(p), "n": number(n_tests, 0)}


@register.filter
def times_right(tried: Tried) -> str:
    """On how many of some rows the team was right: `{{ part|times_right }}`, 2 of 3 (67%) and tied on 1."""
    n, right, ties = (number(n, 0) for n in (tried.n, tried.n_team_right, tried.n_team_ties))
    parts = {"n": n, "right": right, "share": percent(tried.share_team_right, 0), "ties": ties}
    if tried.n_team_ties:
        return gettext("%(right)s of %(n)s (%(share)s) and tied on %(ties)s") % parts
    return gettext("%(right)s of %(n)s (%(share)s)") % parts


@register.filter
def brackets(ci95: Interval | None) -> str:
    """An interval of a difference in points, as it stands behind a number; "" where there is none."""
    low, high = ci95 or (None, None)
    return f" [{points(low)}, {points(high)}]" if is_known(low) and is_known(high) else ""
