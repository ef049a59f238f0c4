"""Texts of people in a chart: as data they stand for themselves, in an expression and in a picture by these functions."""

import html
import json
import re
from typing import Any

HOLLOW = "Hollow: chat or instruction-tuned models."

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


# Advance widths in thousandths of the font's size, as in Helvetica's published metrics
_GROUPS = {
    191: "'", 222: "ijl", 260: "|", 278: " !,./:;I[\\]ft", 333: "()-`r", 334: "{}", 355: '"', 389: "*", 469: "^",
    500: "Jckvxyzs", 556: "#$0123456789?L_abdeghnopqu\u2013", 584: "+<=>~\u2212", 611: "FTZ", 667: "&ABEKPSVXY", 722: "CDHNRUw",
    778: "GOQ", 833: "Mm", 889: "%", 944: "W", 1000: "…\u2014", 1015: "@",
}  # fmt: skip
_BOLD_GROUPS = {
    238: "'", 278: " ,./I\\ijl", 280: "|", 333: "!()-:;[]`ft", 389: "*r{}", 474: '"', 500: "z", 556: "#$0123456789J_aceksvxy\u2013",
    584: "+<=>^~\u2212", 611: "?FLTZbdghnopqu", 667: "EPSVXY", 722: "&ABCDHKNRU", 778: "GOQw", 833: "M", 889: "%m", 944: "W",
    975: "@", 1000: "…\u2014",
}  # fmt: skip
WIDTHS = {c: width for width, group in _GROUPS.items() for c in group}
BOLD_WIDTHS = {c: width for width, group in _BOLD_GROUPS.items() for c in group}

_TEXT = re.compile(r"<text\b([^<>]*)>([^<]+)</text>")
_SIZE = re.compile(r'font-size="([\d.]+)px"')


def width_px(text: str, size_px: float, *, bold: bool = False) -> float | None:
    """The text's width; None where it holds a character whose width is not known here.

    >>> width_px("100%", 10)
    25.57
    >>> width_px("Δ", 10) is None
    True
    """
    widths = BOLD_WIDTHS if bold else WIDTHS
    if any(c not in widths for c in text):
        return None
    return sum(widths[c] for c in text) * size_px / 1000


def fix_widths(svg: str) -> str:
    """Set the width of every text of a picture.

    >>> fix_widths('<text font-size="10px">AB</text>')
    '<text font-size="10px" textLength="13.34" lengthAdjust="spacingAndGlyphs">AB</text>'
    """

    def fixed(match: re.Match[str]) -> str:
        attributes, content = match.groups()
        size = _SIZE.search(attributes)
        text = html.unescape(content)
        bold = 'font-weight="bold"' in attributes
        width = width_px(text, float(size[1]), bold=bold) if size else None
        if not width or not text.strip():
            return match[0]
        length = f'textLength="{width:.2f}" lengthAdjust="spacingAndGlyphs"'
        return f"<text{attributes} {length}>{content}</text>"

    return _TEXT.sub(fixed, svg)
