"""A document's text and identifiers in one form. Knows neither other documents nor files."""

import re
import unicodedata
from dataclasses import replace

from scoring.training.corpus.document import Document, last_day, plain_doi, plain_pmcid, plain_pmid

# Line ends of other systems, and a page's end, which ends a paragraph too
_LINE_ENDS = re.compile(r"\r\n?|[\x85\u2028]")
_PARAGRAPH_ENDS = re.compile(r"[\x0c\u2029]")
# Written for a typesetter: soft hyphens, joiners of words, marks of direction and of a file's beginning
_UNSEEN = re.compile(r"[\xad\u200b\u200e\u200f\u2060\ufeff]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
_SPACES = re.compile(r"[^\S\n]+")
_AROUND_LINE_ENDS = re.compile(r" *\n *")
_BLANK_LINES = re.compile(r"\n{3,}")


def normalise(text: str) -> str:
    r"""The same text without what only a typesetter or a machine put there; paragraphs stay, by blank lines.

    Unicode's form NFC; ligatures (ﬀ to ﬆ) as letters; soft hyphens and unseen characters gone; control characters
    and runs of spaces as one space. What is normalised stays as it is.

    >>> normalise("The  hippo\u00adcampus is de\ufb01ned.\r\n\r\n\r\n Next\tparagraph. ")
    'The hippocampus is defined.\n\nNext paragraph.'
    """
    text = _PARAGRAPH_ENDS.sub("\n\n", _LINE_ENDS.sub("\n", text))
    text = _CONTROLS.sub(" ", _UNSEEN.sub("", text)).translate(_LIGATURES)
    text = _AROUND_LINE_ENDS.sub("\n", _SPACES.sub(" ", text))
    return unicodedata.normalize("NFC", _BLANK_LINES.sub("\n\n", text)).strip()


def normalised(document: Document) -> Document:
    return replace(
        document,
        text=normalise(document.text),
        title=" ".join(normalise(document.title).split()),
        doi=plain_doi(document.doi),
        pmid=plain_pmid(document.pmid),
        pmcid=plain_pmcid(document.pmcid),
        published=document.published if last_day(document.published) else "",
    )
