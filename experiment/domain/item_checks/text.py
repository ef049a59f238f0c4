"""All checks of a text and what is said of it. Pure; which other items are near is found by the caller."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date

from experiment.domain.item_checks.characters import (
    check_characters,
    check_tokens,
    visible,
)
from experiment.domain.item_checks.content import (
    check_contradictions,
    check_numbers,
    check_opening,
    check_whole_sentences,
)
from experiment.domain.item_checks.findings import Facts, Finding, Level, Other, Place
from experiment.domain.item_checks.form import (
    check_form,
    check_looks,
    check_others,
    check_record,
    check_single_brackets,
)
from experiment.domain.item_checks.wording import (
    check_articles,
    check_boundaries,
    check_leaks,
    check_verbs,
)
from experiment.domain.markup import MAX_CHARACTERS, Abstract, MarkupError, offset, parse
from experiment.domain.single_brackets import single_pairs

# Of any text, and of what a test case asks; catch and practice items are to be told by anyone
OF_FORM: tuple[Callable[[Abstract], Iterable[Finding]], ...] = (
    check_tokens,
    check_looks,
    check_single_brackets,
    check_form,
    check_articles,
    check_boundaries,
)
OF_TESTS: tuple[Callable[[Abstract], Iterable[Finding]], ...] = (
    check_opening,
    check_whole_sentences,
    check_leaks,
    check_contradictions,
    check_numbers,
    check_verbs,
)


def check_text(
    markup: str, facts: Facts, today: date, others: Sequence[Other] = ()
) -> list[Finding]:
    """Look a text over, errors first; `others` are items whose original may be nearly the same.

    >>> [f.code for f in check_text("Rats [[slept.", Facts("sleep"), date(2026, 1, 1))]
    ['markup']
    """
    found = [*check_characters(markup), *check_record(facts, today)]
    if len(markup) > MAX_CHARACTERS:
        return found  # no abstract: what else there is to say of it would take minutes to find
    try:
        abstract = parse(markup)
    except MarkupError as error:
        start = offset(markup, error.line, error.column)
        quote, remedy = markup[start : start + 40], ""
        at = Place("markup", start, min(len(markup), start + 2))
        if error.code == "no_alternation" and (pair := next(single_pairs(markup), None)):
            quote, remedy = pair.written, pair.doubled
            at = Place("markup", pair.start, pair.end)
        reason = "Every alternation needs both passages, because participants choose between two versions."
        found.insert(0, Finding("markup", Level.ERROR, str(error), reason, quote, at, remedy))
    else:
        found += check_item(abstract, facts.kind)
        found += check_others(abstract.original, facts, others)
    seen = [replace(f, message=visible(f.message), quote=visible(f.quote)) for f in found]
    return sorted(seen, key=lambda finding: finding.level != Level.ERROR)


def check_item(abstract: Abstract, kind: str = "test") -> list[Finding]:
    """The checks of a text that can be read, by itself."""
    checks = (*OF_FORM, *(OF_TESTS if kind == "test" else ()))
    return [finding for check in checks for finding in check(abstract)]
