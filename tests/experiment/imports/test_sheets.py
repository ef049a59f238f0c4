"""Spreadsheets wherever a table is read: test cases, questions, and values of a template."""

import re
from datetime import date
from io import StringIO
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from experiment.domain.questions.filling import Rule, Template
from experiment.imports.read.items import read_items
from experiment.imports.read.questions import read_questions
from experiment.imports.read.rows import ChooseSheetError, FileRefusedError, read_rows
from experiment.imports.reading import filled_of, items_of
from experiment.imports.store import writing
from experiment.lab import item_files as imports
from experiment.models import Item, ItemImport, ResearchField
from experiment.services.questions import save_template
from tests.experiment.imports.items.rows import OTHER, TEXT
from tests.experiment.lab_client import agree, browser, send, text
from tests.factories import make_research_field, make_user
from tests.sheets import ods, xlsx

HEDGES = "Hedges divide fields. Planted hedges {} the number of bees. Others did not change."
ROWS = [
    ("Key", "Subfield", "Original", "Altered", "Publication date", "Note"),
    ("h-1", "Ecology", HEDGES.format("doubled"), HEDGES.format("halved"), date(2025, 3, 1), ""),
    (),
    (2.0, "Ecology", HEDGES.format("raised"), HEDGES.format("lowered"), date(2025, 3, 2), ""),
    ("007", "Ecology", HEDGES.format("kept"), HEDGES.format("cut"), "", 1.5),
]
NOTES = [("Only a remark; the table is on the second sheet",)]


@pytest.mark.parametrize("write", [xlsx, ods])
def test_a_sheet_of_test_cases_is_read_with_dates_numbers_and_keys(write):
    file = items_of(write({"Notes": NOTES, "Items": ROWS}))
    assert not file.problems
    assert [(r.row, r.line, r.key, r.publication_date, r.note) for r in file.records] == [
        (2, None, "h-1", date(2025, 3, 1), ""),
        (4, None, "2", date(2025, 3, 2), ""),
        (5, None, "007", None, "1.5"),
    ]
    assert file.records[0].markup == HEDGES.format("[[doubled, halved]]")


def test_a_problem_names_the_row_as_the_spreadsheet_program_numbers_it():
    rows = [("key", "markup"), (), ("a-1", "no marks"), ("a-2", TEXT), ("a-2", OTHER)]
    said = [str(problem) for problem in read_items(xlsx({"A": rows})).problems]
    assert said[0].startswith("sheet “A”, row 3, column “markup”: ")
    assert said[1:] == ["sheet “A”, row 5, column “key”: “a-2” is already in row 4"]


@pytest.mark.parametrize("write", [xlsx, ods])
def test_questions_and_values_of_a_template_are_read_from_sheets(write):
    rows = [("uuid", "question", "answer"), (1.0, "Which drug?", "None.")]
    (record,) = read_questions(write({"A": rows})).records
    assert (record.key, record.question, record.answer) == ("1", "Which drug?", "None.")
    values = write({"2024": [("drug", "dose"), ("A", 25.0), ("B", 2.5)]})
    template = Template("How much {{ drug }}?", (Rule("", "{{ dose }} mg"),))
    filled = filled_of(values, template, (), unique_answers=True)
    assert [pair.answer for pair in filled.filling.pairs] == ["25 mg", "2.5 mg"]
    two = write({"2023": [("drug",), ("A",)], "2024": [("drug",), ("B",)]})
    with pytest.raises(ChooseSheetError) as several:
        filled_of(two, template, (), unique_answers=True)
    assert several.value.sheets == ("2023", "2024")


def test_only_a_spreadsheet_has_sheets():
    with pytest.raises(FileRefusedError, match="Only a spreadsheet"):
        read_rows(b"a,b\n1,2\n", (), sheet="A")


@pytest.fixture
def cooking() -> ResearchField:
    return make_research_field("cooking", "Baking", lead=make_user("lead"))


HEADER = ("key", "markup")
TWO = {"2023": [HEADER, ("a-1", TEXT)], "2024": [HEADER, ("a-2", OTHER)]}


@pytest.mark.django_db
def test_the_command_reads_the_sheet_that_is_named(cooking, tmp_path: Path):
    path = tmp_path / "items.xlsx"
    path.write_bytes(xlsx(TWO))
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("import_items", str(path), "--field", "cooking", stdout=out)
    assert "Several sheets could be the table: “2023”, “2024”." in out.getvalue()
    assert "Use --sheet NAME" in out.getvalue()
    call_command(
        "import_items", str(path), "--field", "cooking", "--sheet", "2024", stdout=StringIO()
    )
    assert Item.objects.get().markup == OTHER


@pytest.mark.django_db
def test_the_page_asks_which_sheet_is_read_and_a_worker_reads_it_too(cooking, monkeypatch):
    lead = browser("lead")
    place = send(lead, xlsx(TWO), source="machine").partition("?")[0]
    page = text(lead.get(place, {"source": "machine"}))
    (form,) = re.findall(r'<form method="get">(.*?)</form>', page, re.S)
    assert re.findall(r'<option value="([^"]*)"', form) == ["2023", "2024"]
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    assert hidden["source"] == "machine"
    page = text(lead.get(place, hidden | {"sheet": "2024"}))
    assert "Import 1 test case" in page
    monkeypatch.setattr(imports, "_is_for_workers", lambda file: True)
    agree(lead, page)
    assert writing.run(ItemImport.objects.get()).status == "finished"
    (item,) = Item.objects.all()
    assert (item.markup, item.source) == (OTHER, "machine")


@pytest.mark.django_db
def test_the_page_of_a_template_asks_which_sheet_fills_it(cooking):
    lead, rules = browser("lead"), [{"when": "", "answer": "{{ dose }} mg"}]
    row = save_template(cooking, "t", "How much {{ drug }}?", rules, {})
    header = ("drug", "dose")
    data = xlsx({"A": [header, ("A", 1)], "B": [header, ("B", 2), ("C", 3)]})
    address = reverse("lab:question_template", args=["cooking", row.pk])
    sent = lead.post(address, {"file": SimpleUploadedFile("values.xlsx", data)})
    place = sent["Location"]
    page = text(lead.get(place))
    assert re.findall(r'<option value="([AB])"', page) == ["A", "B"]
    assert "2 rows make 2 questions" in text(lead.get(place.partition("?")[0], {"sheet": "B"}))
