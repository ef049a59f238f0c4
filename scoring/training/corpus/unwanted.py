"""Texts that no corpus takes: retracted articles, notices about other articles, texts in other languages. Pure."""

import re
from collections.abc import Collection

from scoring.training.corpus.document import Document

RETRACTED, DELETED, NOTICE, OTHER_LANGUAGE = "retracted", "deleted from PubMed", "notice", "another language"  # fmt: skip
# As PubMed names types; the last is ours, of a number that PubMed has taken back
RETRACTED_TYPE, DELETED_TYPE = "Retracted Publication", "Deleted Citation"
NOTICES = frozenset(
    {"published erratum", "retraction of publication", "retraction notice", "expression of concern", "correction", "retraction",
     "partial-retraction", "expression-of-concern", "addendum", "corrected-article"}
)  # fmt: skip
PUBMED = "pubmed"  # whose types say which notices there are; elsewhere publishers say it before the title
_RETRACTED_TITLE = re.compile(r"\[?(retracted|withdrawn)( article| publication)?[\]:]", re.I)
_NOTICE_TITLE = re.compile(
    r"(erratum|corrigendum|addendum|retraction( note)?|expression of concern|(author|publisher) correction)( to| for)?:",
    re.I,
)
# Papers are about corrections too: of drift, for multiple tests
_CORRECTION_TITLE = re.compile(r"correction( to\b| for\b|:)", re.I)
_NOTICE_WORDS = 100  # fewer than an abstract of a paper mostly has
ENGLISH = "eng"
# As PubMed writes languages
CODES = {
    "en": "eng", "english": "eng", "es": "spa", "fr": "fre", "fra": "fre", "de": "ger", "deu": "ger", "zh": "chi", "zho": "chi",
    "ja": "jpn", "ru": "rus", "pt": "por", "it": "ita", "pl": "pol", "nl": "dut", "nld": "dut", "ko": "kor",
}  # fmt: skip
# Frequent in English, and rare as words of another language
_WORDS = frozenset({"the", "and", "of", "that", "were", "with", "from", "which", "this", "these"})
# Of the words of the 74 English abstracts of scoring/demo_lm a fifth in the median, a tenth at least
_ENGLISH_SHARE = 0.08


def plain_language(text: str) -> str:
    """Codes of languages as PubMed writes them, separated by semicolons.

    >>> plain_language("en-GB"), plain_language("eng; Fre"), plain_language("English")
    ('eng', 'eng; fre', 'eng')
    """
    parts = (re.split(r"[-_]", part.strip().lower())[0] for part in text.split(";"))
    return "; ".join(CODES.get(part, part) for part in parts if part)


def is_english(text: str) -> bool:
    """True if a text reads as English, by its most frequent words: an abstract may be in another language than its article.

    >>> is_english("Sleep was measured in forty rats and nothing was found."), is_english("Se midió el sueño en ratas.")
    (True, False)
    """
    words = re.findall(r"\w+", text.lower())
    return bool(words) and sum(word in _WORDS for word in words) >= _ENGLISH_SHARE * len(words)


def why_unwanted(document: Document, languages: Collection[str] = (ENGLISH,)) -> str:
    """Why no corpus takes a document; empty where nothing keeps it out.

    Args:
        languages: those that are taken, by PubMed's codes; all where there are none. A document that names none is taken.

    >>> why_unwanted(Document("a", "Ratten schlafen.", language="ger")), why_unwanted(Document("a", "Mice.", title="Erratum to: mice."))
    ('another language', 'notice')
    """
    types = {kind.strip().lower() for kind in document.publication_types.split(";")} - {""}
    if not types.isdisjoint((RETRACTED_TYPE.lower(), "retracted-article")):
        return RETRACTED
    if DELETED_TYPE.lower() in types:
        return DELETED
    if not NOTICES.isdisjoint(types):
        return NOTICE
    if _RETRACTED_TITLE.match(document.title):
        return RETRACTED
    is_by_type = document.source == PUBMED and types
    if not is_by_type and _CORRECTION_TITLE.match(document.title):
        if len(document.text.split(maxsplit=_NOTICE_WORDS)) < _NOTICE_WORDS:
            return NOTICE
    elif not is_by_type and _NOTICE_TITLE.match(document.title):
        return NOTICE
    named = set(plain_language(document.language).split("; ")) - {""}
    return OTHER_LANGUAGE if languages and named and named.isdisjoint(languages) else ""
