"""PubMed's XML (PubmedArticleSet) -> documents: one for each article with an abstract. Knows no network."""

from typing import Any

from scoring.training.corpus.document import Document, plain_doi
from scoring.training.corpus.read import dates
from scoring.training.corpus.read.records import Records, text_of


def read_pubmed(root: Any) -> Records:
    """The articles under a PubmedArticleSet; books and articles without an abstract by their PMIDs."""
    documents, without_text = [], []
    for article in root.iterfind("PubmedArticle"):
        document = _document(article)
        if document.text:
            documents.append(document)
        else:
            without_text.append(document.pmid)
    books = [pmid.text for pmid in root.iterfind("PubmedBookArticle/BookDocument/PMID")]
    return Records(tuple(documents), tuple(without_text), tuple(books))


def _document(article: Any) -> Document:
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
    found = [] if issue is None else [_date(issue), dates.of_medline(_text(issue, "MedlineDate"))]
    return dates.best([*found, *(_date(e) for e in about.iterfind("ArticleDate"))])


def _date(element: Any) -> str:
    return dates.written(*(element.findtext(part) for part in ("Year", "Month", "Day")))


def _text(element: Any, path: str) -> str:
    found = element.find(path)
    return "" if found is None else text_of(found)
