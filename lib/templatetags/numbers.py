"""Numbers as every page, caption and terminal shows them: `{% load numbers %}`.

The rules are lib/formatting.py; here they become filters, and nouns that follow a number get their plural forms in the
reader's language. An unknown number (None or NaN) is a dash.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django import template
from django.template.defaultfilters import date
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext

from lib import formatting

register = template.Library()

register.filter("number", formatting.number)
register.filter("compact", formatting.compact)
register.filter("percent", formatting.percent)
register.filter("points", formatting.points)
register.filter("percentage_points", formatting.percentage_points)
register.filter("p_value", formatting.p_value)
register.filter("coefficient", formatting.coefficient)
register.filter("seconds", formatting.seconds)
register.filter("interval", formatting.interval)
register.filter("share_interval", formatting.share_interval)
register.filter("points_interval", formatting.points_interval)
register.filter("coefficient_interval", formatting.coefficient_interval)
register.filter("compact_interval", formatting.compact_interval)
register.filter("listing", formatting.listing)


@register.filter
def size(difference: float | None) -> float | None:
    """The number without its sign: `{{ difference|size|percentage_points }}`."""
    return None if difference is None else abs(difference)


def _noun(name: str, form: Callable[[int], str]) -> None:
    def noun(n: Any) -> str:
        known = int(n) if formatting.is_known(n) else 0
        return form(known) % {"n": formatting.number(n, 0)}

    register.filter(name, noun)


# A number with its noun: `{{ humans.n_trials|trials }}`
_noun("trials", lambda n: ngettext("%(n)s trial", "%(n)s trials", n))
_noun("answers", lambda n: ngettext("%(n)s answer", "%(n)s answers", n))
_noun("questions", lambda n: ngettext("%(n)s question", "%(n)s questions", n))
_noun("grades", lambda n: ngettext("%(n)s grade", "%(n)s grades", n))
_noun("templates", lambda n: ngettext("%(n)s template", "%(n)s templates", n))
_noun("judgments", lambda n: ngettext("%(n)s judgment", "%(n)s judgments", n))
_noun("test_cases", lambda n: ngettext("%(n)s test case", "%(n)s test cases", n))
_noun("participants", lambda n: ngettext("%(n)s participant", "%(n)s participants", n))
_noun(
    "simulated_participants",
    lambda n: ngettext("%(n)s simulated participant", "%(n)s simulated participants", n),
)
_noun("people", lambda n: ngettext("%(n)s person", "%(n)s people", n))
_noun("models", lambda n: ngettext("%(n)s model", "%(n)s models", n))
_noun("language_models", lambda n: ngettext("%(n)s language model", "%(n)s language models", n))
_noun("subfields", lambda n: ngettext("%(n)s subfield", "%(n)s subfields", n))
_noun("bins", lambda n: ngettext("%(n)s bin", "%(n)s bins", n))
_noun("observations", lambda n: ngettext("%(n)s observation", "%(n)s observations", n))
_noun("fits", lambda n: ngettext("%(n)s fit", "%(n)s fits", n))
_noun("decisions", lambda n: ngettext("%(n)s decision", "%(n)s decisions", n))
_noun("texts", lambda n: ngettext("%(n)s text", "%(n)s texts", n))
_noun("pairs", lambda n: ngettext("%(n)s pair", "%(n)s pairs", n))
_noun("resamples", lambda n: ngettext("%(n)s resample", "%(n)s resamples", n))


@register.filter
def with_interval(value: str, shown: str) -> str:
    """`{{ p.accuracy|percent|with_interval:interval }}`: the interval in brackets, where there is one."""
    return formatting.with_interval(value, shown)


@register.filter
def duration(seconds: float) -> str:
    """How long something takes, for reading.

    >>> duration(4.2), duration(89), duration(600), duration(9000)
    ('4 s', '89 s', '10 minutes', '2.5 hours')
    """
    if seconds < 90:
        return gettext("%(n).0f s") % {"n": seconds}
    if seconds < 90 * 60:
        return gettext("%(n).0f minutes") % {"n": seconds / 60}
    return gettext("%(n).1f hours") % {"n": seconds / 3600}


_MOMENTS = {
    "": ("j M Y, H:i:s", "c"),
    "minute": ("j M Y, H:i", "c"),
    "day": ("j M Y", "Y-m-d"),
    "month": ("F Y", "Y-m"),
}


@register.filter
def known_time(at: datetime | None, unit: str) -> str:
    """A time, said no more exactly than it is known: to the second unless another unit is named. Empty where there is none.

    >>> known_time(datetime(2026, 3, 1), "month")
    '<time datetime="2026-03">March 2026</time>'
    """
    if at is None:
        return ""
    read, machine = _MOMENTS[unit]
    return format_html('<time datetime="{}">{}</time>', date(at, machine), date(at, read))


@register.filter
def clock(seconds: float | None) -> str:
    """Minutes and seconds, for columns of times. Empty where nothing is known.

    >>> clock(75.4), clock(3600), clock(59.6)
    ('1:15', '60:00', '1:00')
    """
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
