"""Every number that the list of the paper's figures holds has a row, under both numberings."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

import pytest

from analysis.report.replication.printed import PLACES, ROWS, WORDS, Printed

RESULTS_MD = Path(__file__).resolve().parents[4] / "docs/results.md"
LABEL = re.compile(r"S?\d+[a-c]?")
DATE = re.compile(r"\d{4}-\d{2}(?:-\d{2})?")
# A number by itself: no part of a name (GPT-2, Mistral-7B) nor of a figure's (S5, 3a); millions count as their number
NUMBER = re.compile(r"(?<![\w.])(?<![A-Za-z]-)-?\d*\.?\d+(?=M\b|\b)(?![a-ce-zA-LN-Z])")


@pytest.fixture(scope="module")
def listed(shared_dir: Path) -> str:
    return (shared_dir / "reference/FIGURES.md").read_text(encoding="utf-8")


def figures(listed: str) -> Iterator[tuple[str, str]]:
    """The rows of the table: the figures' numbers, and all that is said of them."""
    table = listed.partition("| figure |")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        first, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        # What the data hold besides is not printed
        yield first, re.sub(r"\((the data|blue)[^)]*\)", "", " ".join(cells))


def labels(cell: str, numbering: str) -> list[str]:
    """The figures that a first cell names in one numbering, "P" or "J".

    >>> labels("S18 (P), S19 (J)", "J"), labels("S9-S11 / S12", "P")
    (['S19'], ['S9', 'S10', 'S11', 'S12'])
    """
    parts = re.findall(r"([^()]+)\((\w)\)", cell) or [(cell, "P"), (cell, "J")]
    found: list[str] = []
    for text, whose in parts:
        if whose != numbering:
            continue
        for name in re.finditer(r"S(\d+)-S(\d+)|S?\d+[a-c]?", text):
            low, high = name.groups()
            found += [f"S{n}" for n in range(int(low), int(high) + 1)] if low else [name.group()]
    return found


def numbers(text: str) -> list[str]:
    """As the list has them.

    >>> numbers("t(14)=25.8, CI .17-.20; GPT-2 124M, Mistral-7B, figure 3a, S5; 75/51; -.03 (.65)")
    ['14', '25.8', '.17', '.20', '124', '75', '51', '-.03', '.65']
    """
    text = re.sub(r"(?<=\d)-(?=\.)", " ", text)  # a range, no minus
    return NUMBER.findall(text)


def of_place(row: Printed, numbering: str) -> set[str]:
    number = row.place.preprint if numbering == "P" else row.place.article
    return set(LABEL.findall(number))


def prints(rows: Sequence[Printed], number: str) -> bool:
    return any(_same(row.printed, number) for row in rows)


def _same(printed: str, number: str) -> bool:
    try:
        return bool(printed) and Decimal(printed) == Decimal(number)
    except InvalidOperation:
        return printed == number


def mapped(numbering: str) -> set[str]:
    """The figures that docs/results.md names in one numbering; its supplementary tables left out."""
    text = RESULTS_MD.read_text(encoding="utf-8")
    section = text.partition("\n## Figures\n")[2].partition("\n## ")[0]
    heading = "preprint" if numbering == "P" else "article"
    found: set[str] = set()
    column = 0
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if heading in cells:
            column = cells.index(heading)
        elif len(cells) > column and column and "Table" not in cells[column]:
            found |= set(LABEL.findall(cells[column]))
    return found


def test_each_sentence_on_a_row_is_used_and_each_row_has_its_own():
    named = [word for row in ROWS for word in (row.why, row.remark, row.not_in_files) if word]
    assert set(named) == set(WORDS)
    assert {row.relation for row in ROWS} == {"equal", "above", "below", "at_least", "around"}


@pytest.mark.parametrize("numbering", ["P", "J"])
def test_every_number_of_every_figure_has_a_row_of_that_figure(listed, numbering):
    n_found = 0
    for cell, text in figures(listed):
        if "again" in text:  # which figures are shown again
            text = text.partition("items")[2]
        own = set(labels(cell, numbering))
        rows = [row for row in ROWS if of_place(row, numbering) & own]
        found = numbers(text)
        n_found += len(found)
        assert [n for n in found if not prints(rows, n)] == [], cell
    assert n_found > 50


@pytest.mark.parametrize("numbering", ["P", "J"])
def test_every_figure_has_a_row_and_is_on_the_map(listed, numbering):
    everything = {name for cell, _ in figures(listed) for name in labels(cell, numbering)}
    assert len(everything) > 25
    assert everything == set().union(
        *(
            of_place(row, numbering)
            for row in ROWS
            if not (row.place.preprint or "T").startswith(("T", "M"))
        )
    )
    assert everything == mapped(numbering)


@pytest.mark.parametrize(
    ("begins", "place"), [("**S1**", "cut_offs"), ("**S3**", "logistic"), ("**S4**", "journals")]
)
def test_every_number_of_the_supplementary_tables_has_a_row(listed, begins, place):
    text = listed.partition(begins)[2].partition("**")[0].partition("\n\n")[0]
    rows = [row for row in ROWS if row.place == PLACES[place]]
    found = DATE.findall(text) or numbers(re.sub(r"\([^)]*\)", "", text))
    assert found
    assert [n for n in found if not prints(rows, n)] == []


def test_every_table_s3_number_of_the_reference_has_a_row(reference):
    for name, printed in reference["paper"]["table_S3"].items():
        rows = [row for row in ROWS if row.what.startswith(f"{name}: ")]
        assert [Decimal(row.printed) for row in rows] == [Decimal(str(n)) for n in printed]


def test_every_number_about_people_has_a_row(listed):
    text = listed.partition("People: ")[2].partition("\n\n")[0]
    text = re.sub(r"\(the file[^)]*\)", "", text)
    rows = [r for r in ROWS if r.place in (PLACES["people"], PLACES["items"])]
    days = re.findall(r"(\d{4})(-\d\d-\d\d) to (\d\d-\d\d)", text)
    found = [day for year, first, last in days for day in (f"{year}{first}", f"{year}-{last}")]
    found += re.findall(r"[A-Z]+/\d+/\d+", text)
    rest = re.sub(r"\d{4}-\d\d-\d\d to \d\d-\d\d|[A-Z]+/\d+/\d+", "", text)
    found += numbers(rest)
    assert len(found) > 18
    assert [n for n in found if not prints(rows, n)] == []


def test_every_number_of_the_procedure_has_a_row(listed):
    text = listed.partition("as printed\n")[2].partition("\n##")[0]
    rows = [row for row in ROWS if row.place == PLACES["procedure"]]
    found = numbers(text.replace("1-100", "1 100"))
    assert len(found) > 5
    assert [n for n in found if not prints(rows, n)] == []


def test_the_list_of_the_reference_has_its_teams_among_the_rows(reference):
    known = reference["haico_logistic_on_human_items"]["sklearn"]
    rows = [row for row in ROWS if row.place == PLACES["teams"]]
    assert [int(row.printed) for row in rows] == [row["n_correct"] for row in known]
