"""Quality rules for the form of a text: what a curator should look at before accepting it. Pure.

Warnings, not errors: the published set breaks some of them, and a person decides.
"""

import re
from collections.abc import Iterator

from experiment.domain.item_checks.findings import Finding, Level, Place
from experiment.domain.item_checks.layout import placed, versions
from experiment.domain.markup import Abstract

# The paper's abstracts have 122 to 336 words; the built-in demo's are shorter on purpose.
MIN_WORDS, MAX_WORDS = 60, 400
# A passage much longer than its counterpart gives the answer away to people and models alike.
MAX_LENGTH_RATIO = 3.0
MIN_LENGTH_DIFFERENCE = 20
LONG_PASSAGE = 200

# The dot of an abbreviation is no end: `et al., 2010`, `(i.e., both)`
_DOUBLED = re.compile(
    r"(?<!\bi\.e)(?<!\be\.g)(?<!\bal)(?<!\betc)(?<!\bvs)[.,;:]\s*[.,;:](?!\.)", re.I
)
_STRAY_SPACE = re.compile(r" {2,}| [.,;:](?:\s|$)")
TYPING = "A fault of typing in one version marks it as the altered one, or as the original."


def check_form(abstract: Abstract) -> Iterator[Finding]:
    """Look the form over.

    >>> from experiment.domain.markup import parse
    >>> text = "Cells [[grew., shrank.]]. " + "More words follow here. " * 20
    >>> {warning.code for warning in check_form(parse(text))}
    {'doubled_punctuation'}
    """
    yield from _check_words(abstract)
    yield from _check_versions(abstract)
    yield from _check_passages(abstract)


def _check_words(abstract: Abstract) -> Iterator[Finding]:
    n_words = len(abstract.original.split())
    if not MIN_WORDS <= n_words <= MAX_WORDS:
        message = f"{n_words} words; abstracts usually have {MIN_WORDS} to {MAX_WORDS}"
        reason = "Reading times and models' scores of very short or long texts do not compare."
        yield Finding("length", Level.WARNING, message, reason)


def _check_versions(abstract: Abstract) -> Iterator[Finding]:
    for name, text in versions(abstract):
        dots_joined = text.replace("...", "\N{HORIZONTAL ELLIPSIS}  ")
        if match := _DOUBLED.search(dots_joined):
            message = f"“{match.group()}” in the {name} version"
            yield _in_version(
                "doubled_punctuation", message, name, text, match.start(), match.end()
            )
        if match := _STRAY_SPACE.search(text):
            message = f"stray space near character {match.start() + 1} of the {name} version"
            yield _in_version("spacing", message, name, text, match.start(), match.end())
        if (at := _unpaired(text)) is not None:
            message = f"a bracket is open in the {name} version"
            yield _in_version("brackets", message, name, text, at, at + 1)


def _in_version(code: str, message: str, name: str, text: str, start: int, end: int) -> Finding:
    """A warning about a place of a version; it is quoted with what stands around it."""
    quote = text[max(0, start - 20) : end + 20].strip()
    at = Place("original" if name == "original" else "altered", start, end)
    return Finding(code, Level.WARNING, message, TYPING, quote, at)


def _unpaired(text: str) -> int | None:
    """Where a square bracket stands that has no counterpart.

    >>> _unpaired("[a] b]"), _unpaired("[[a]"), _unpaired("[a]")
    (5, 0, None)
    """
    opened: list[int] = []
    for match in re.finditer(r"[\[\]]", text):
        if match[0] == "[":
            opened.append(match.start())
        elif not opened:
            return match.start()
        else:
            opened.pop()
    return opened[0] if opened else None


def _check_passages(abstract: Abstract) -> Iterator[Finding]:
    alternations = placed(abstract)
    for one in alternations:
        passages = one.alternation.original, one.alternation.altered
        short, long = sorted(map(len, passages))
        if long > MAX_LENGTH_RATIO * short and long - short >= MIN_LENGTH_DIFFERENCE:
            message = f"one passage is {long / short:.1f} times as long"
            yield one.warning(
                "lopsided", message, "Without knowing the field, one sees which was added to."
            )
        if passages[0].casefold() == passages[1].casefold():
            message = "the passages differ only in capitals"
            yield one.warning("case_only", message, "Both versions then say the same.")
    if all(len(one.alternation.original) > LONG_PASSAGE for one in alternations):
        message = f"every alternation is longer than {LONG_PASSAGE} characters"
        reason = (
            "Only the words that differ stand in an alternation: a long one hides what is asked."
        )
        yield Finding("long_passages", Level.WARNING, message, reason)
