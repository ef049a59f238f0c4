"""`a` or `an` before the word that follows it, in both versions. Pure."""

import re
from collections.abc import Iterator

from experiment.domain.item_checks.findings import Finding, Level, Place
from experiment.domain.item_checks.layout import placed, versions
from experiment.domain.markup import Abstract

# A capital A within a sentence is a label, as in `group A`
_ARTICLE = re.compile(r"((?<![\w.-])an?|(?:(?<=^)|(?<=[.!?]\s))An?)\s+[“\"'(]?([^\W_][\w.-]*)")
# Sounds, not letters: `a uniform`, `a one-way`, `an hour`, `an 8-week`
_LIKE_YOU = re.compile(
    r"uni(?!n|m[pmb]|dent)|use|usu|usab|usag|uti|uter|urin|ura|ubiq|eu|ewe|one\b|once|one-|ure",
    re.I,
)
_SILENT_H = re.compile(r"hour|honest|honou?r|heir", re.I)
_NUMBER_WITH_VOWEL = re.compile(r"8|1[18](?:\D|$|\d{3}(?:\D|$))")
# Of a letter that is read out; the others are read alike as a letter and as a word
_UNSURE_LETTERS = "FHLMNRSUX"


def check_articles(abstract: Abstract) -> Iterator[Finding]:
    """Warnings: an article that fits one passage alone gives the answer away.

    >>> from experiment.domain.markup import parse
    >>> [f.quote for f in check_articles(parse("We saw a [[rise, increase]] and an effect."))]
    ['a increase']
    """
    alternations = placed(abstract)
    for side, (name, text) in enumerate(versions(abstract)):
        places = [one.sides[side][0] for one in alternations]
        for found in _ARTICLE.finditer(text):
            is_near = any(at.start < found.end() and found.start() < at.end for at in places)
            wanted = article_of(found[2])
            if is_near and wanted and found[1].lower() != wanted:
                yield Finding(
                    "article",
                    Level.WARNING,
                    f"“{found[0]}” in the {name} version; it should be “{wanted}”",
                    "An article that fits only one of the passages gives the answer away.",
                    found[0],
                    Place("original" if side == 0 else "altered", found.start(), found.end()),
                )


def article_of(word: str) -> str:
    """`a` or `an`; empty where people differ, as about an abbreviation.

    >>> [article_of(word) for word in ("increase", "uniform", "hour", "8-week", "PFC", "mRNA")]
    ['an', 'a', 'an', 'an', 'a', '']
    """
    if word[0].isdigit():
        return "an" if _NUMBER_WITH_VOWEL.match(word) else "a"
    head = re.split(r"[-.]", word)[0]
    if len(head) == 1 or any(char.isupper() for char in head[1:]):
        if head[0].islower() or head[0] in _UNSURE_LETTERS:
            return ""
        return "an" if head[0] in "AEIO" else "a"
    if not word[0].isascii():
        return ""
    if _LIKE_YOU.match(word):
        return "a"
    return "an" if word[0].lower() in "aeiou" or _SILENT_H.match(word) else "a"
