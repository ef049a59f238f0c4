"""PubMed's and PMC's XML -> documents: how it is read, its dates, its articles. Knows neither the network nor the folder."""

import html
import re
from calendar import month_abbr
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lxml import etree

from scoring.training.corpus.document import Document, last_day, plain_doi

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


MONTHS = {name.lower(): number for number, name in enumerate(month_abbr) if name}


def iso_date(year: str | None, month: str | None = None, day: str | None = None) -> str:
    """A date in its parts; months by number or English name, of several the first. What cannot be read is left off.

    >>> iso_date("2019", "Aug", "2"), iso_date("2019", "Winter"), iso_date("2019", "Feb", "31")
    ('2019-08-02', '2019', '2019-02')
    """
    if not re.fullmatch(r"\d{4}", (year or "").strip()):
        return ""
    date = (year or "").strip()
    name = (month or "").strip().lower()
    number = int(name) if name.isdecimal() else MONTHS.get(name[:3], 0)
    if not 1 <= number <= 12:
        return date
    date += f"-{number:02d}"
    number = int(day) if (day or "").strip().isdecimal() else 0  # type: ignore[arg-type]
    exact = f"{date}-{number:02d}"
    return exact if last_day(exact) else date


def medline_date(text: str) -> str:
    """The begin of a date that MEDLINE keeps as text.

    >>> medline_date("1998 Dec-1999 Jan"), medline_date("2000 Spring"), medline_date("2015 Jul 7-13")
    ('1998-12', '2000', '2015-07-07')
    """
    match = re.search(r"(\d{4})(?:\s+([A-Za-z]+))?(?:\s+(\d{1,2})\b)?", text)
    return iso_date(*match.groups()) if match else ""


def best_date(dates: Iterable[str]) -> str:
    """The most exact one; of several, the first.

    >>> best_date(["2019", "2018-12-20"]), best_date(["", ""])
    ('2018-12-20', '')
    """
    return max(dates, key=len, default="")


def read_pubmed(root: Any) -> Records:
    """The articles under a PubmedArticleSet; books and articles without an abstract by their PMIDs."""
    documents, without_text = [], []
    for article in root.iterfind("PubmedArticle"):
        document = _article(article)
        if document.text:
            documents.append(document)
        else:
            without_text.append(document.pmid)
    books = [pmid.text for pmid in root.iterfind("PubmedBookArticle/BookDocument/PMID")]
    return Records(tuple(documents), tuple(without_text), tuple(books))


def _article(article: Any) -> Document:
    about, citation = article.find("MedlineCitation/Article"), article.find("MedlineCitation")
    pmid = citation.findtext("PMID").strip()
    # Of the article itself: its references, further down, have lists of ids too
    ids = {e.get("IdType"): e.text or "" for e in article.iterfind("PubmedData/ArticleIdList/*")}
    doi = about.findtext("ELocationID[@EIdType='doi']") or ids.get("doi", "")
    return Document(
        id=f"pmid:{pmid}",
        text=_abstract(about),
        title=_text(about, "ArticleTitle"),
        doi=plain_doi(doi),
        pmid=pmid,
        pmcid=ids.get("pmc", ""),
        journal=_text(about, "Journal/Title") or _text(about, "Journal/ISOAbbreviation"),
        published=_published(about),
        licence=_text(about, "Abstract/CopyrightInformation"),
        kind="abstract",
        source="pubmed",
    )


def _abstract(about: Any) -> str:
    """Whole, each part of a structured one on a line with its label."""
    lines = []
    for part in about.iterfind("Abstract/AbstractText"):
        label, text = (part.get("Label") or "").strip(), text_of(part)
        is_named = label and label.upper() != "UNLABELLED"
        if text:
            lines.append(f"{label}: {text}" if is_named else text)
    return "\n".join(lines)


def _published(about: Any) -> str:
    """The issue's date, or that of the article's first appearance where it is more exact."""
    issue = about.find("Journal/JournalIssue/PubDate")
    found = [] if issue is None else [_date(issue), medline_date(_text(issue, "MedlineDate"))]
    return best_date([*found, *(_date(e) for e in about.iterfind("ArticleDate"))])


def _date(element: Any, parts: Sequence[str] = ("Year", "Month", "Day")) -> str:
    return iso_date(*map(element.findtext, parts))


def _text(element: Any, path: str) -> str:
    found = element.find(path)
    return "" if found is None else text_of(found)


LEFT_OUT = (
    "fig", "fig-group", "table-wrap", "table-wrap-group", "table", "floats-group", "disp-formula", "disp-formula-group",
    "tex-math", "graphic", "inline-graphic", "media", "supplementary-material", "inline-supplementary-material",
    "ref-list", "fn", "fn-group", "object-id", "label", "chem-struct-wrap", "code", "permissions",
)  # fmt: skip
BLOCKS = (
    "abstract", "body", "sec", "title", "p", "list", "list-item", "def-list", "def-item", "disp-quote", "boxed-text",
    "statement", "verse-group", "verse-line", "break",
)  # fmt: skip
LICENCE_REF = "{http://www.niso.org/schemas/ali/1.0/}license_ref"


def read_jats(root: Any) -> Records:
    """The articles under a pmc-articleset; those without a body by their numbers, those without a number not at all."""
    documents, without_text = [], []
    for article in root.iterfind("article"):
        if article.find("front/article-meta") is None:
            continue  # damaged, and without a number: it is reported as not given
        document, body = _paper(article)
        if body:
            documents.append(document)
        else:
            without_text.append(document.pmcid.removeprefix("PMC"))
    return Records(tuple(documents), tuple(without_text))


def _paper(article: Any) -> tuple[Document, str]:
    about = article.find("front/article-meta")
    ids = {e.get("pub-id-type"): text_of(e) for e in about.iterfind("article-id")}
    number = (ids.get("pmcid") or ids.get("pmc") or ids.get("pmcaid", "")).removeprefix("PMC")
    # Further abstracts are for the public, or a figure
    abstract = "\n".join(
        _plain(e) for e in about.iterfind("abstract") if not e.get("abstract-type")
    )
    body = "\n".join(_plain(e) for e in article.iterfind("body"))
    title = about.find("title-group/article-title")
    document = Document(
        id=f"pmcid:PMC{number}",
        text="\n".join(filter(None, (abstract, body))),
        title="" if title is None else text_of(title, (*LEFT_OUT, "xref")),
        doi=plain_doi(ids.get("doi")),
        pmid=ids.get("pmid", ""),
        pmcid=f"PMC{number}",
        journal=(article.findtext("front/journal-meta//journal-title") or "").strip(),
        published=best_date(_date(e, ("year", "month", "day")) for e in about.iterfind("pub-date")),
        licence=_licence(about),
        kind="fulltext",
        source="pmc",
    )
    return document, body


def _plain(element: Any) -> str:
    return text_of(element, LEFT_OUT, BLOCKS, citations=False)


def _licence(about: Any) -> str:
    """Its address where one is given, else its kind or its words."""
    licence = about.find("permissions/license")
    if licence is None:
        return ""
    links = [e.get(f"{XLINK}href") or "" for e in licence.iter("ext-link", "uri")]
    named = [link for link in links if "creativecommons.org" in link]
    found = (
        licence.get(f"{XLINK}href"),
        licence.findtext(f".//{LICENCE_REF}"),
        *named,
        text_of(licence, blocks=("license-p",)).replace("\n", " ") or licence.get("license-type"),
    )
    return next((text.strip() for text in found if text and text.strip()), "")
