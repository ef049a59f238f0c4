"""Places on an interval's drawing: `{% load compare %}`."""

from collections.abc import Sequence

from django import template

register = template.Library()


@register.filter
def hundred(share: float) -> str:
    """Where a share stands on an axis from 0 to 100.

    >>> hundred(0.5), hundred(1.0)
    ('49.50', '99.00')
    """
    return f"{99 * share:.2f}"


@register.filter
def width_hundred(ci95: Sequence[float]) -> str:
    return f"{99 * (ci95[1] - ci95[0]) + 1:.2f}"
