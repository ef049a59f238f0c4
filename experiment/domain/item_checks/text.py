"""All checks of a text and what is said of it. Pure; which other items are near is found by the caller."""

from datetime import date

from experiment.domain.item_checks.characters import check_characters
from experiment.domain.item_checks.facts import Facts
from experiment.domain.item_checks.findings import Finding, Level, Place
from experiment.domain.item_checks.form import check_item
from experiment.domain.item_checks.record import check_record
from experiment.domain.markup import MarkupError, offset, parse


def check_text(markup: str, facts: Facts, today: date) -> list[Finding]:
    """Look a text over, errors first.

    >>> [f.code for f in check_text("Rats [[slept.", Facts("sleep"), date(2026, 1, 1))]
    ['markup']
    """
    found = [*check_characters(markup), *check_record(facts, today)]
    try:
        abstract = parse(markup)
    except MarkupError as error:
        return [_markup_finding(markup, error), *found]
    found += check_item(abstract)
    return sorted(found, key=lambda finding: finding.level != Level.ERROR)


def _markup_finding(markup: str, error: MarkupError) -> Finding:
    start = offset(markup, error.line, error.column)
    end = min(len(markup), start + 2)
    reason = (
        "Without both passages of every alternation there are no two versions to choose between."
    )
    at = Place("markup", start, end)
    return Finding("markup", Level.ERROR, str(error), reason, markup[start : start + 40], at)
