"""How two texts differ, for pages that show a test case or a change of it: `{% load texts %}`."""

from collections.abc import Iterable

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from experiment.domain.markup import Plain, Segment
from experiment.domain.markup_between import Piece

register = template.Library()

_PIECES = {"same": "{}", "removed": "<del>{}</del>", "added": "<ins>{}</ins>"}
_GAP = SafeString(
    ' <span class="quiet" aria-label="unchanged words left out" role="img">[…]</span> '
)
_BOTH = (
    '<span class="wording wording-original"><span class="wording-tag">original</span>&nbsp;'
    '<span class="wording-text">{}</span></span> <span class="wording wording-changed">'
    '<span class="wording-tag">changed</span>&nbsp;<span class="wording-text">{}</span></span>'
)


@register.simple_tag
def difference(pieces: Iterable[Piece]) -> SafeString:
    """An edit: what was removed, and what was added."""
    shown = (
        _GAP if piece.kind == "gap" else format_html(_PIECES[piece.kind], piece.text)
        for piece in pieces
    )
    return _paragraph("difference", shown)


@register.simple_tag
def wordings(segments: Iterable[Segment], css: str = "difference", name: str = "") -> SafeString:
    """A test case with both wordings of each alternation."""
    return _paragraph(css, map(_segment, segments), name)


def _segment(segment: Segment) -> SafeString:
    if isinstance(segment, Plain):
        return format_html("{}", segment.text)
    return format_html(_BOTH, segment.original, segment.altered)


def _paragraph(css: str, parts: Iterable[SafeString], name: str = "") -> SafeString:
    """A paragraph of a text that browsers do not translate."""
    return format_html(
        '<p class="{} notranslate" translate="no"{} dir="auto">{}</p>',
        *(css, format_html(' id="{}"', name) if name else ""),
        format_html_join("", "{}", ((part,) for part in parts)),
    )
