"""Markdown files as the sites show them that take HTML within."""

from lxml import html
from markdown_it import MarkdownIt

from tests.hostile import faults

_RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
# What the names of tests.hostile_names and the payloads of tests.hostile lead to
FOREIGN = ("evil.example", "pwned", "javascript:")


def page(text: str) -> str:
    return f"<main>{_RENDERER.render(text)}</main>"


def wrong(text: str) -> list[str]:
    """The parts of a file that are more than words, of all that people wrote."""
    rendered = page(text)
    links = html.document_fromstring(rendered).xpath("//@href | //@src")
    foreign = [link for link in links if any(part in link for part in FOREIGN)]
    tags = html.document_fromstring(rendered).xpath("//script | //img | //svg | //iframe")
    return [*faults(rendered), *foreign, *(tag.tag for tag in tags)]
