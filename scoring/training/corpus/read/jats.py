"""Full texts in JATS, as PMC gives them (pmc-articleset) -> documents: abstract, line break, body. Knows no network.

Left out: figures, tables, formulas set apart, TeX, footnotes, references and the numbers that point to them, supplements.
Titles of sections are lines of their own.
"""

from typing import Any

from scoring.training.corpus.document import Document, plain_doi
from scoring.training.corpus.read import dates
from scoring.training.corpus.read.records import XLINK, Records, text_of

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
        document, body = _document(article)
        if body:
            documents.append(document)
        else:
            without_text.append(document.pmcid.removeprefix("PMC"))
    return Records(tuple(documents), tuple(without_text))


def _document(article: Any) -> tuple[Document, str]:
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
        published=dates.best(_date(e) for e in about.iterfind("pub-date")),
        licence=_licence(about),
        kind="fulltext",
        source="pmc",
    )
    return document, body


def _plain(element: Any) -> str:
    return text_of(element, LEFT_OUT, BLOCKS, citations=False)


def _date(element: Any) -> str:
    return dates.written(*(element.findtext(part) for part in ("year", "month", "day")))


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
