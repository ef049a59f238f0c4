"""Filters of Markdown files: `{% load markdown %}`. They are rendered as HTML is: what no filter escapes is no tag at least."""

import json

from django import template
from django.utils.safestring import SafeString

from lib.names import escaped

register = template.Library()


@register.filter
def plain(text: object) -> SafeString:
    """The words that people wrote, in one line of Markdown and in a cell of a table."""
    return SafeString(escaped(str(text)))


@register.filter
def yaml(value: object) -> SafeString:
    r"""A text as YAML reads it back, and HTML does not: JSON's spelling is one of YAML's.

    >>> yaml('a: "b"')
    '"a: \\"b\\""'
    """
    return SafeString(json.dumps(str(value), ensure_ascii=False).replace("<", r"\u003c"))
