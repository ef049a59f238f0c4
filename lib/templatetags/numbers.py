"""Numbers as every page, caption and terminal shows them: `{% load numbers %}`.

The rules are lib/formatting.py; here they become filters. An unknown number (None or NaN) is a dash.
"""

from datetime import datetime

from django import template
from django.template.defaultfilters import date
from django.utils.html import format_html

from lib import formatting

register = template.Library()

register.filter("number", formatting.number)
register.filter("compact", formatting.compact)
register.filter("percent", formatting.percent)
register.filter("points", formatting.points)
register.filter("coefficient", formatting.coefficient)
register.filter("seconds", formatting.seconds)
register.filter("interval", formatting.interval)
register.filter("share_interval", formatting.share_interval)
register.filter("coefficient_interval", formatting.coefficient_interval)
register.filter("listing", formatting.listing)


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
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


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
