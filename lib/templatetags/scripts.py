"""Scripts and styles of pages, which every template may name: `{% script 'js/lab.js' %}`."""

from django import template
from django.template import Context
from django.templatetags.static import static
from django.utils.html import format_html

register = template.Library()


@register.simple_tag(takes_context=True)
def script(context: Context, path: str) -> str:
    """A module, with the nonce without which the answer's policy runs none."""
    # Pages kept in memory have no request: they are given the nonce itself
    nonce = context.get("csp_nonce") or getattr(context.get("request"), "csp_nonce", "")
    tag = '<script type="module" nonce="{}" src="{}"></script>'
    return format_html(tag, nonce, static(path))


@register.simple_tag
def stylesheet(path: str) -> str:
    return format_html('<link rel="stylesheet" href="{}">', static(path))
