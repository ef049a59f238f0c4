"""Values in data cards: YAML and Markdown that hold what people wrote."""

import json

from django import template

register = template.Library()


@register.filter
def yaml(value: object) -> str:
    r"""A text as YAML reads it back: JSON's spelling is one of YAML's.

    >>> yaml('a: "b"')
    '"a: \\"b\\""'
    """
    return json.dumps(str(value), ensure_ascii=False)


@register.filter
def plain(value: object) -> str:
    """A text in one line of Markdown, none of it read as such.

    >>> plain("a|b <i>")
    'a\\\\|b &lt;i>'
    """
    text = " ".join(str(value).split()).replace("\\", "\\\\").replace("<", "&lt;")
    for mark in "|*_`[]#":
        text = text.replace(mark, f"\\{mark}")
    return text
