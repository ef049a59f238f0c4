"""The frame of the lab's pages, in every template: a panel with its heading, a table with its columns, a form's button, the foot."""

from collections.abc import Sequence
from datetime import datetime

from django import template
from django.forms import BoundField, CheckboxInput
from django.shortcuts import resolve_url
from django.template.defaultfilters import date
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from lib.code import release
from lib.templatetags.tables import columns as head_of_table

register = template.Library()


@register.simple_block_tag
def panel(
    content: str,
    name: str,
    heading: object,
    n: object = None,
    css: str = "",
    *,
    is_region: bool = True,
) -> SafeString:
    """`{% panel "people" "People" n_people %}...{% endpanel %}`: with how many the heading counts, where that is known.

    is_region: whether it is a landmark of its own, and not one with the element around it.
    """
    region = format_html(' aria-labelledby="{}-heading"', name) if is_region else ""
    counted = format_html(' <span class="count">{}</span>', n) if isinstance(n, int) else ""
    return format_html(
        '<section class="{}"{}><h2 id="{}-heading">{}{}</h2>{}</section>',
        *(f"panel {css}".strip(), region, name, heading, counted, content),
    )


@register.simple_block_tag
def table(content: str, of: str, *columns: str | Sequence[str], css: str = "plain") -> SafeString:
    """`{% table "people" "Name" "#Trials" %}rows{% endtable %}`: in the panel `people`; # marks a column of numbers.

    A list of columns may stand in their place.
    """
    labels = [label for each in columns for label in ([each] if isinstance(each, str) else each)]
    return format_html(
        '<div class="scroller" tabindex="0" role="region" aria-labelledby="{}-heading">'
        '<table class="{}">{}<tbody>{}</tbody></table></div>',
        *(of, css, head_of_table(*labels), content),
    )


@register.simple_tag
def submit(label: str, style: str = "primary", of: str = "", **attributes: str) -> SafeString:
    """`{% submit "Save" %}`, `{% submit "Remove" "secondary small" of=name %}`: a form's button.

    of: added for those who hear the button by itself. `name="sure"` and the like become its attributes.
    """
    more = format_html_join("", ' {}="{}"', attributes.items())
    shown = '<button class="{}" type="submit"{}>{}{}</button>'
    return format_html(shown, _css(style), more, label, _heard(of))


@register.simple_tag
def button_to(
    label: str, to: str, *args: object, style: str = "secondary small", of: str = ""
) -> SafeString:
    """`{% button_to "Write" "lab:write_item" slug pk %}`, or an address: a link that looks like a button."""
    shown = '<a class="{}" href="{}">{}{}</a>'
    url = to if to.startswith("?") else resolve_url(to, *args)
    return format_html(shown, _css(style), url, label, _heard(of))


def _css(style: str) -> str:
    return " ".join(("button", *(f"button-{word}" for word in style.split())))


def _heard(words: str) -> str:
    return format_html('<span class="visually-hidden"> {}</span>', words) if words else ""


@register.simple_tag
def software() -> str:
    """The name and version of this software, at the foot of a page."""
    return f"BrainBench Live {release()}"


@register.filter
def is_box(field: BoundField) -> bool:
    """True for one box to tick, whose label follows it."""
    return isinstance(field.field.widget, CheckboxInput)


@register.simple_tag
def utc(at: datetime) -> SafeString:
    """A time to the minute, with its zone."""
    shown = '<time class="quiet" datetime="{}">{} UTC</time>'
    return format_html(shown, date(at, "c"), date(at, "Y-m-d H:i"))
