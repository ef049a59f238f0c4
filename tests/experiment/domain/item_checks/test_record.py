"""A DOI and a date that cannot be right."""

from datetime import date

import pytest

from experiment.domain.item_checks.findings import Facts
from experiment.domain.item_checks.form import check_record

TODAY = date(2026, 11, 22)


@pytest.mark.parametrize(
    "doi",
    [
        "10.1523/JNEUROSCI.0772-22.2022",
        "10.1002/(SICI)1097-4679(199911)55:11<1>2.0.CO;2-A",
        "10.1000.10/123;x",
        "",
    ],
)
def test_a_handbooks_doi_is_none(doi: str) -> None:
    assert not list(check_record(Facts("f", doi=doi), TODAY))


@pytest.mark.parametrize(
    "doi",
    ["https://doi.org/10.1/x", "10.1/x", "10.1234", "10.1234/", "10.1234/a b", "doi", "x" * 99],
)
def test_anything_else_is_an_error(doi: str) -> None:
    assert [f.code for f in check_record(Facts("f", doi=doi), TODAY)] == ["doi_form"]


@pytest.mark.parametrize(
    ("day", "codes"),
    [
        (date(1665, 1, 5), []),
        (TODAY, []),
        (date(1664, 12, 31), ["date"]),
        (date(2026, 11, 23), ["date"]),
        (None, []),
    ],
)
def test_a_date_lies_between_the_first_journal_and_today(
    day: date | None, codes: list[str]
) -> None:
    assert [f.code for f in check_record(Facts("f", publication_date=day), TODAY)] == codes
