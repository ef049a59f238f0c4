"""The hidden field of a button about a row: what the page shows of it."""

from django import template
from django.db.models import Model
from django.utils.safestring import SafeString

from lib.opened import seen

register = template.Library()


@register.simple_tag
def opened(row: Model, *names: str) -> SafeString:
    """{% opened membership "role" %}, or without names all columns."""
    return seen(row, *names)
