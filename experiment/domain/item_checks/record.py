"""The DOI and the date of the publication behind an item. Pure."""

import re
from collections.abc import Iterator
from datetime import date

from experiment.domain.item_checks.facts import Facts
from experiment.domain.item_checks.findings import Finding, Level

# The first scientific journals are of 1665
FIRST_DATE = date(1665, 1, 5)
# The handbook's form: a registrant of at least four digits, a slash, and printable characters without spaces
_DOI = re.compile(r"10\.\d{4,9}(?:\.\d+)*/[^\s\x00-\x1f\x7f]+")


def check_record(facts: Facts, today: date) -> Iterator[Finding]:
    """Errors: the works of a study are told apart by DOI, and models' cut-offs are compared with the date.

    >>> [finding.code for finding in check_record(Facts("", doi="doi:10.1/x"), date(2026, 1, 1))]
    ['doi_form']
    """
    if facts.doi and not _DOI.fullmatch(facts.doi):
        yield Finding(
            "doi_form",
            Level.ERROR,
            f"“{facts.doi[:80]}” is no DOI: write it as 10.1234/abc, without https://doi.org/",
            "The DOI tells which test cases are of one publication: a person is shown only one of them.",
            facts.doi[:80],
        )
    published = facts.publication_date
    if published and not FIRST_DATE <= published <= today:
        why = "that day is still to come" if published > today else "before there were journals"
        yield Finding(
            "date",
            Level.ERROR,
            f"published on {published.isoformat()}: {why}",
            "The date is compared with the day until which a model has read.",
            published.isoformat(),
        )
