"""What Markdown files need: `{% load markdown %}`. They are rendered as HTML is: what no filter escapes is no tag at least."""

from django import template
from django.utils.safestring import SafeString

from lib.names import escaped

register = template.Library()


@register.filter
def plain(text: object) -> SafeString:
    """What people wrote, in one line of Markdown and in a cell of a table: words alone."""
    return SafeString(escaped(str(text)))
