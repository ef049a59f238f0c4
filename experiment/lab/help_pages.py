"""The docs that come with the site, as pages of the lab: those that its users need, from Markdown."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from experiment.domain import export_columns
from experiment.lab import routes
from experiment.lab.access import for_signed_in
from lib.pages import show

FOLDER: Path = settings.BASE_DIR / "docs"
# In the order in which a newcomer needs them
PAGES = {
    "first-study-with-people": "A first study, from pasted abstracts to payments and results",
    "test-cases": "Write, import, check and review test cases",
    "participants": "What participants do, what is stored, and what an export holds",
    "questions": "Questions that participants and models answer, and how answers are graded",
    "models": "Score, train and serve language models",
    "results": "How each number of the results is computed",
    "codebook": "Every column of an export",
    "rights": "What each role may do",
    "api": "The same data for programs",
    "commands": "Commands for the server's administrator",
    "operations": "Install, configure, back up and restore a site",
}
# Pages that the code writes by itself; the others are files
WRITTEN: dict[str, Callable[[], str]] = {
    "codebook": export_columns.as_markdown,
    "rights": routes.as_markdown,
}
_LINK = re.compile(r"([a-z-]+)\.md(#.*)?")
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")


@require_safe
@for_signed_in
def pages(request: HttpRequest) -> HttpResponse:
    return show(request, "lab/help/pages.html", pages=PAGES, section="help")


@require_safe
@for_signed_in
def page(request: HttpRequest, name: str) -> HttpResponse:
    if name not in PAGES:
        raise Http404
    title, text = rendered(name)
    return show(request, "lab/help/page.html", title=title, text=text, section="help")


@cache
def rendered(name: str) -> tuple[str, SafeString]:
    """The title of a page, and the rest as HTML. The text is the project's own, and HTML in it is shown as it is written."""
    write = WRITTEN.get(name)
    page = write() if write else (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    head, _break, rest = page.partition("\n")
    tokens = _PARSER.parse(rest)
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and following is not None:
            token.attrSet("id", anchor_of(following.content))
        if token.type == "inline" and token.children:
            token.children = list(_with_links(token.children))
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    # Tables and commands may be wider than a phone; those who use a keyboard scroll them too
    region = 'class="scroller" tabindex="0" role="region" aria-label="{}"'
    html = html.replace("<pre>", f"<pre {region.format('Commands')}>")
    table = f'<div {region.format("Table")}><table class="plain">'
    html = html.replace("<table>", table).replace("</table>", "</table></div>")
    return head.lstrip("# "), SafeString(html)


def anchor_of(heading: str) -> str:
    """As links of the docs name it.

    >>> anchor_of("What a report is about, `by kind`")
    'what-a-report-is-about-by-kind'
    """
    return re.sub(r"[^\w -]", "", heading.casefold()).strip().replace(" ", "-")


def _with_links(tokens: list[Token]) -> "list[Token]":
    """Links lead to pages of the lab or of other sites; those to other files, and pictures, are left out."""
    kept: list[Token] = []
    left_out = False
    for token in tokens:
        if token.type == "link_open":
            address = str(token.attrGet("href"))
            if not address.startswith(("https://", "#")):
                found = _LINK.fullmatch(address)
                address = (
                    reverse("lab:help_page", args=[found[1]]) + (found[2] or "")
                    if found and found[1] in PAGES
                    else ""
                )
            left_out = not address
            token.attrSet("href", address)
        if token.type == "image" or (left_out and token.type in ("link_open", "link_close")):
            left_out = left_out and token.type != "link_close"
            continue
        kept.append(token)
    return kept
