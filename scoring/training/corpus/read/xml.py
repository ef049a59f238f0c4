"""PubMed's and PMC's XML -> documents: how it is read, its dates, its articles. Knows neither the network nor the folder."""

import gzip
import html
import re
import zlib
from calendar import month_abbr
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from lxml import etree

from scoring.training.corpus.document import Document, last_day, plain_doi
from scoring.training.corpus.unwanted import (
    DELETED_TYPE,
    ENGLISH,
    RETRACTED_TYPE,
    is_english,
    plain_language,
)

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
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
    """An element's text in plain lines: markup within a line is left off, its text kept; an exponent keeps its place (10^6).

    Args:
        without: names of elements that are left out with all that they hold.
        blocks: names of elements that are lines of their own.
        citations: False leaves out numbers that point to references ("[12]"), which say nothing without these.

    >>> text_of(parse(b"<p>H<sub>2</sub>O at  5 <i>mM</i>, p &amp;lt; .05</p>"))
    'H2O at 5 mM, p < .05'
    """
    text = _level("".join(_pieces(element, frozenset(without), frozenset(blocks), citations)))
    text = ENTITY.sub(lambda match: html.unescape(match.group()), text)
    if not citations:
        text = re.sub(r"[\[(][\s,;\u2013-]*[\])]", "", text)
        text = re.sub(r"(?<! ) +(?=[,;:)]|\.(?:\s|$))", "", text)
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
            yield "".join(_pieces_of_math(child))
        elif name not in without and (citations or not _is_citation(child)):
            edge = "\n" if name in blocks else ""
            before, after = {"sup": (UP, END), "sub": (DOWN, END)}.get(name, (edge, edge))
            yield before
            yield from _pieces(child, without, blocks, citations)
            yield after
        yield _flat(child.tail)


def _pieces_of_math(element: Any) -> Iterator[str]:
    """Without white space; of msup, msub and msubsup the second part and the third stand above or below."""
    marks = {"msup": ("", UP), "msub": ("", DOWN), "msubsup": ("", DOWN, UP)}
    places = marks.get(local_name(element), ())
    yield (element.text or "").strip()
    children = [child for child in element if local_name(child) not in TEX]
    for n, child in enumerate(children):
        mark = places[n] if n < len(places) else ""
        yield mark
        yield from _pieces_of_math(child) if local_name(child) else [child.text]
        yield END if mark else ""
        yield (child.tail or "").strip()


# Around what stands raised or lowered; no XML can hold them
UP, DOWN, END = "\x0e", "\x0f", "\x10"
_RAISED = re.compile(rf"([{UP}{DOWN}])([^{UP}{DOWN}{END}]*){END}")
_NUMBER = re.compile(r"[+\-\u2212\u2013]?\d[\d.,]*")
_SIGNS = re.compile(r"[^\w]*|st|nd|rd|th")


def _level(text: str) -> str:
    """Raised and lowered text on the line; with a sign before it where it would else run into a number.

    >>> _level(f"10{UP}6{END} m{UP}-2{END} Ca{UP}2+{END} CD4{UP}+{END} {UP}14{END}C CO{DOWN}2{END} 7{DOWN}2{END}")
    '10^6 m^-2 Ca2+ CD4+ 14C CO2 7_2'
    """

    def put(match: re.Match[str]) -> str:
        inner = match[2].strip()
        before = match.string[: match.start()][-1:]
        if match[1] == DOWN:
            return f"_{inner}" if before.isdigit() and inner[:1].isdigit() else inner
        is_base = before.isalnum() or before in (")", "]")
        is_exponent = before.isdigit() and not _SIGNS.fullmatch(inner)
        return (
            f"^{inner}"
            if before and is_base and (is_exponent or _NUMBER.fullmatch(inner))
            else inner
        )

    while _RAISED.search(text):  # the innermost first
        text = _RAISED.sub(put, text)
    return text


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


def read_pubmed(root: Iterable[Any]) -> Records:
    """The articles of a PubmedArticleSet; books and articles without an abstract by their PMIDs."""
    documents, without_text, books = [], [], []
    for article in root:
        if article.tag == "PubmedBookArticle":
            books.append(article.findtext("BookDocument/PMID") or "")
        if article.tag != "PubmedArticle":
            continue
        about, citation = article.find("MedlineCitation/Article"), article.find("MedlineCitation")
        pmid = citation.findtext("PMID").strip()
        # Of the article itself: its references, further down, have lists of ids too
        ids = {
            e.get("IdType"): e.text or "" for e in article.iterfind("PubmedData/ArticleIdList/*")
        }
        text, language = _abstract(citation)
        types = [
            _flat(e.text).strip() for e in about.iterfind("PublicationTypeList/PublicationType")
        ]
        # None that its publisher has found to be wrong, in whichever list it stands
        stated = [
            (e.get("ValidYN"), plain_doi(e.text))
            for e in about.iterfind("ELocationID[@EIdType='doi']")
        ]
        wrong = {doi for is_valid, doi in stated if is_valid == "N"}
        dois = (*(doi for _, doi in stated), plain_doi(ids.get("doi", "")))
        # The issue's date, or that of the article's first appearance where it is more exact
        issue = about.find("Journal/JournalIssue/PubDate")
        dates = [] if issue is None else [_date(issue), medline_date(_text(issue, "MedlineDate"))]
        dates += [_date(e) for e in about.iterfind("ArticleDate")]
        is_retracted = (
            citation.find("CommentsCorrectionsList/*[@RefType='RetractionIn']") is not None
        )
        if is_retracted and RETRACTED_TYPE not in types:  # its types may say so later
            types.append(RETRACTED_TYPE)
        document = Document(
            id=f"pmid:{pmid}",
            text=text,
            title=_text(about, "ArticleTitle"),
            doi=next((doi for doi in dois if doi and doi not in wrong), ""),
            pmid=pmid,
            pmcid=ids.get("pmc", ""),
            journal=_text(about, "Journal/Title") or _text(about, "Journal/ISOAbbreviation"),
            published=best_date(dates),
            licence=_text(about, "Abstract/CopyrightInformation"),
            kind="abstract",
            source="pubmed",
            publication_types="; ".join(filter(None, types)),
            language=language,
        )
        if document.text:
            documents.append(document)
        else:
            without_text.append(document.pmid)
    return Records(tuple(documents), tuple(without_text), tuple(books))


# What a file of PubMed's or PMC's is made of
TAGS = ("PubmedArticle", "PubmedBookArticle", "DeleteCitation", "article")
Damaged = (etree.XMLSyntaxError, gzip.BadGzipFile, EOFError, zlib.error)


def read_articles(file: BinaryIO | gzip.GzipFile) -> Iterator[Records]:
    """The records of a file one after the other: a yearly file of PubMed has 30,000 in 300 MB. No DTD, entity or network.

    Raises:
        Damaged: it is no XML, or was cut off.
    """
    parser = etree.iterparse(
        file,
        tag=TAGS,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
    )
    for _, element in parser:
        name = element.tag
        if name == "DeleteCitation":
            # PubMed has taken these numbers back; the records then go wherever they came from
            numbers = [pmid.text.strip() for pmid in element.iterfind("PMID")]
            deleted = (
                Document(
                    f"pmid:{number}", "", pmid=number, kind="abstract", source="pubmed",
                    publication_types=DELETED_TYPE,
                )
                for number in numbers
                if number
            )  # fmt: skip
            yield Records(tuple(deleted))
        elif name == "article":
            yield read_jats([element])
        else:
            yield read_pubmed([element])
        # What was read is let go, with what stands before it
        element.clear()
        while (before := element.getprevious()) is not None:
            element.getparent().remove(before)


def _abstract(citation: Any) -> tuple[str, str]:
    """The text and its language: of an article in another one, an English abstract beside it is taken."""
    languages = [_flat(e.text).strip() for e in citation.iterfind("Article/Language")]
    language = plain_language("; ".join(languages))
    text = labelled(citation.iterfind("Article/Abstract/AbstractText"))
    if not language or ENGLISH in language.split("; ") or is_english(text):
        return text, ENGLISH if language else ""
    for other in citation.iterfind("OtherAbstract"):
        if plain_language(other.get("Language") or "") == ENGLISH:
            return labelled(other.iterfind("AbstractText")), ENGLISH
    return text, language


def labelled(parts: Iterable[Any]) -> str:
    """Whole, each part of a structured abstract on a line with its label."""
    lines = []
    for part in parts:
        label, text = (part.get("Label") or "").strip(), text_of(part)
        is_named = label and label.upper() != "UNLABELLED" and not text.startswith(f"{label}:")
        if text:
            lines.append(f"{label}: {text}" if is_named else text)
    return "\n".join(lines)


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


def read_jats(root: Iterable[Any]) -> Records:
    """The articles of a pmc-articleset; those without a body by their numbers, those without a number not at all."""
    documents, without_text = [], []
    for article in root:
        if article.tag != "article" or article.find("front/article-meta") is None:
            continue  # damaged, and without a number: it is reported as not given
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
            published=best_date(
                _date(e, ("year", "month", "day")) for e in about.iterfind("pub-date")
            ),
            licence=_licence(about),
            kind="fulltext",
            source="pmc",
            publication_types=(article.get("article-type") or "").strip(),
            language=plain_language(article.get(XML_LANG) or ""),
        )
        if body:
            documents.append(document)
        else:
            without_text.append(document.pmcid.removeprefix("PMC"))
    return Records(tuple(documents), tuple(without_text))


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
