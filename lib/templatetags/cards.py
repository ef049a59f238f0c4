"""Values in data cards: YAML that holds what people wrote."""

import json

from django import template
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def yaml(value: object) -> SafeString:
    r"""A text as YAML reads it back, and HTML does not: JSON's spelling is one of YAML's.

    >>> yaml('a: "b"')
    '"a: \\"b\\""'
    """
    return SafeString(json.dumps(str(value), ensure_ascii=False).replace("<", r"\u003c"))
