"""Tags of the lab's tables: `{% load tables %}`."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def columns(*labels: str) -> SafeString:
    """The head of a table. A column of numbers begins with #, and a column without a head is empty.

    >>> columns("Arm", "#Share", "")
    '<thead><tr><th scope="col">Arm</th><th scope="col" class="number">Share</th><td></td></tr></thead>'
    """
    return format_html("<thead><tr>{}</tr></thead>", format_html_join("", "{}", map(_head, labels)))


def _head(label: str) -> tuple[SafeString]:
    if not label:
        return (SafeString("<td></td>"),)
    if label.startswith("#"):
        return (format_html('<th scope="col" class="number">{}</th>', label[1:]),)
    return (format_html('<th scope="col">{}</th>', label),)


@register.simple_block_tag
def scroller(content: SafeString, label: str) -> SafeString:
    """A table that is wider than a phone: it scrolls by itself, by keys too."""
    begin = '<div class="scroller" tabindex="0" role="region" aria-label="{}">{}</div>'
    return format_html(begin, label, content)
