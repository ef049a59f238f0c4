from django import template

register = template.Library()
UNITS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))


@register.filter
def place(percent: float) -> str:
    """Where something stands in a picture.

    >>> place(12.3456)
    '12.35%'
    """
    return f"{percent:.2f}%"


@register.filter
def short_count(value: float) -> str:
    """A count of tokens, in three digits.

    >>> short_count(0), short_count(2500), short_count(1_300_000_000)
    ('0', '2.5k', '1.3G')
    """
    for size, letter in UNITS:
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


@register.filter
def curve_name(name: str) -> str:
    """The name of a line, in the reader's language."""
    names = {
        "loss": "training texts",
        "held-out": "held-out texts",
        "accuracy": "right decisions",
        "original": "original texts",
        "altered": "altered texts",
    }
    return names[name]
