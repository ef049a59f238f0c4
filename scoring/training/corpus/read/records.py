"""What one answer of PubMed or of PMC holds, and how its XML is read. Knows neither the network nor the folder."""

import html
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from lxml import etree

from scoring.training.corpus.document import Document

XLINK = "{http://www.w3.org/1999/xlink}"
# A name that the XML itself does not know, as &alpha; or, escaped twice by a publisher, &amp;lt;
ENTITY = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|[A-Za-z]\w*);")
TEX = frozenset({"annotation", "annotation-xml", "tex-math"})


@dataclass(frozen=True, slots=True)
class Records:
    """The documents of an answer, and the numbers (PMID, or PMCID without its letters) of what is none."""

    documents: tuple[Document, ...] = ()
    without_text: tuple[str, ...] = ()
    books: tuple[str, ...] = ()


def parse(content: bytes) -> Any:
    """The root of an XML document. No DTD is loaded, no entity resolved, and nothing asked of the network.

    Raises:
        ValueError: it is none, or was cut off.
    """
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise ValueError(f"no XML: {error}") from error


def text_of(
    element: Any,
    without: Collection[str] = (),
    blocks: Collection[str] = (),
    citations: bool = True,
) -> str:
    """An element's text in plain lines: markup within a line is left off, its text kept.

    Args:
        without: names of elements that are left out with all that they hold.
        blocks: names of elements that are lines of their own.
        citations: False leaves out numbers that point to references ("[12]"), which say nothing without these.

    >>> text_of(parse(b"<p>H<sub>2</sub>O at  5 <i>mM</i>, p &amp;lt; .05</p>"))
    'H2O at 5 mM, p < .05'
    """
    text = "".join(_pieces(element, frozenset(without), frozenset(blocks), citations))
    text = ENTITY.sub(lambda match: html.unescape(match.group()), text)
    if not citations:
        text = re.sub(r"[\[(][\s,;\u2013-]*[\])]", "", text)
        text = re.sub(r" +(?=[,;:)]|\.(?:\s|$))", "", text)
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _pieces(
    element: Any, without: frozenset[str], blocks: frozenset[str], citations: bool
) -> Iterator[str]:
    yield _flat(element.text)
    for child in element:
        name = local_name(child)
        if name == "":  # an entity that is not resolved
            yield child.text
        elif name == "math":
            yield "".join(piece.strip() for piece in _pieces(child, TEX, frozenset(), True))
        elif name not in without and (citations or not _is_citation(child)):
            edge = "\n" if name in blocks else ""
            yield edge
            yield from _pieces(child, without, blocks, citations)
            yield edge
        yield _flat(child.tail)


def local_name(element: Any) -> str:
    """An element's name without its namespace; empty for what is no element."""
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def _is_citation(element: Any) -> bool:
    """A number that points to the references, or what stands raised around several."""
    if local_name(element) == "sup":
        return element.find(".//xref[@ref-type='bibr']") is not None
    is_reference = local_name(element) == "xref" and element.get("ref-type") == "bibr"
    return is_reference and not any(map(str.isalpha, "".join(element.itertext())))


def _flat(text: str | None) -> str:
    """A line break in the source is a space: what is a line, the elements say."""
    return re.sub(r"\s+", " ", text or "")
