"""How wide a text is in Arial and the fonts cut to its measure, so that another font is squeezed to that width.

A chart is laid out with the widths of its font. Where a reader's system has none of the fonts named, a wider one would
run over its neighbours or the picture's edge. SVG's textLength says how wide a text has to be, whatever the font.
"""

import html
import re

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

_TEXT = re.compile(r"<text\b([^>]*)>([^<]+)</text>")
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
    return _TEXT.sub(_fixed, svg)


def _fixed(match: re.Match[str]) -> str:
    attributes, content = match.groups()
    size = _SIZE.search(attributes)
    text = html.unescape(content)
    bold = 'font-weight="bold"' in attributes
    width = width_px(text, float(size[1]), bold=bold) if size else None
    if not width or not text.strip():
        return match[0]
    return f'<text{attributes} textLength="{width:.2f}" lengthAdjust="spacingAndGlyphs">{content}</text>'
