"""Names of the strata of test cases on pages: `{% load strata %}`."""

from django import template

from experiment.services.counts import STRATUM_NAMES

register = template.Library()


@register.filter
def stratum_name(stratum: str) -> str:
    """
    >>> stratum_name("human")
    'Human-created'
    """
    return STRATUM_NAMES[stratum]
