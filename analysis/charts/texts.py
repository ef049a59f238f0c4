"""Texts of people in a chart: as data they stand for themselves, in an expression and in a picture by these functions."""

import json
from typing import Any

# What XML cannot hold, and what draws charts ends the whole process at: shown as Unicode's pictures of control characters
_PICTURES = {n: 0x2400 + n for n in range(0x20) if chr(n) not in "\t\n\r"}
_NO_CHARACTERS = dict.fromkeys([*range(0xD800, 0xE000), 0xFFFE, 0xFFFF], 0xFFFD)
_DRAWABLE = _PICTURES | _NO_CHARACTERS


def drawable(text: str) -> str:
    r"""The text without characters that a picture cannot hold.

    >>> drawable("a\x07b")
    'a␇b'
    """
    return text.translate(_DRAWABLE)


def quoted(text: str) -> str:
    r"""The text as it stands in a Vega expression.

    >>> quoted("it's\n"), quoted("constructor")
    ('"it\'s\\n"', '("c" + "onstructor")')
    """
    text = drawable(text)
    if len(text) > 1 and text.isidentifier():
        # Vega looks such texts up among its operators, and finds what every JavaScript object has
        return f"({json.dumps(text[0])} + {json.dumps(text[1:])})"
    return json.dumps(text)


def by_value(texts: dict[str, str]) -> str:
    """An expression that gives for each value of an axis its text.

    Not an object's keys: some names, as `__proto__`, mean something there.
    """
    keys, shown = (", ".join(map(quoted, every)) for every in (texts.keys(), texts.values()))
    return f"[{shown}][indexof([{keys}], datum.value)]"


def all_drawable(value: Any) -> Any:
    """A specification, every text in it drawable."""
    match value:
        case str():
            return drawable(value)
        case dict():
            return {key: all_drawable(each) for key, each in value.items()}
        case list() | tuple():
            return [all_drawable(each) for each in value]
        case _:
            return value
