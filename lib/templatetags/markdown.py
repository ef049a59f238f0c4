"""What Markdown files need: `{% load markdown %}`."""

from django import template

register = template.Library()


@register.filter
def cell(text: str) -> str:
    """A text within a table, where a stroke would begin another cell."""
    return str(text).replace("|", "/")
