"""Quality rules for an item's text: what a curator should look at before accepting it. Pure.

Warnings, not errors: the published set breaks some of them, and a person decides.
"""

import re

from experiment.domain.item_checks.findings import Finding, Level
from experiment.domain.markup import Abstract, Plain

# The paper's abstracts have 122 to 336 words; the built-in demo's are shorter on purpose.
MIN_WORDS, MAX_WORDS = 60, 400
# A passage much longer than its counterpart gives the answer away to people and models alike.
MAX_LENGTH_RATIO = 3.0
MIN_LENGTH_DIFFERENCE = 20


def check_item(abstract: Abstract) -> list[Finding]:
    """Look an abstract over.

    >>> from experiment.domain.markup import parse
    >>> text = "Cells [[grew., shrank.]]. " + "More words follow here. " * 20
    >>> {warning.code for warning in check_item(parse(text))}
    {'doubled_punctuation'}
    """
    return [*_check_words(abstract), *_check_versions(abstract), *_check_passages(abstract)]


def _warning(code: str, message: str) -> Finding:
    return Finding(code, Level.WARNING, message)


def _check_words(abstract: Abstract) -> list[Finding]:
    n_words = len(abstract.original.split())
    if MIN_WORDS <= n_words <= MAX_WORDS:
        return []
    return [
        _warning("length", f"{n_words} words; abstracts usually have {MIN_WORDS} to {MAX_WORDS}")
    ]


def _check_versions(abstract: Abstract) -> list[Finding]:
    found = []
    for name, text in (("original", abstract.original), ("altered", abstract.altered)):
        if match := re.search(r"[.,;:]\s*[.,;:](?!\.)", text.replace("...", "…")):
            found.append(
                _warning("doubled_punctuation", f"“{match.group()}” in the {name} version")
            )
        if match := re.search(r" {2,}| [.,;:](?:\s|$)", text):
            found.append(
                _warning(
                    "spacing",
                    f"stray space near character {match.start() + 1} of the {name} version",
                )
            )
        if text.count("[") != text.count("]"):
            found.append(_warning("brackets", f"a bracket is open in the {name} version"))
    return found


def _check_passages(abstract: Abstract) -> list[Finding]:
    found = []
    for n, alternation in enumerate(abstract.alternations, start=1):
        short, long = sorted((len(alternation.original), len(alternation.altered)))
        if long > MAX_LENGTH_RATIO * short and long - short >= MIN_LENGTH_DIFFERENCE:
            found.append(
                _warning(
                    "lopsided", f"alternation {n}: one passage is {long / short:.1f} times as long"
                )
            )
        if alternation.original.casefold() == alternation.altered.casefold():
            found.append(
                _warning("case_only", f"alternation {n}: the passages differ only in capitals")
            )
    if all(isinstance(s, Plain) or len(s.original) > 200 for s in abstract.segments):
        found.append(_warning("long_passages", "every alternation is longer than 200 characters"))
    return found
