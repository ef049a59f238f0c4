"""Round trips: an export comes back unchanged after data frames and spreadsheets have read and written it, with rows added."""

import io
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Any

import pandas as pd
import pytest

from experiment.imports.store.item_plans import AS_DRAFTS, ItemOptions
from experiment.imports.store.question_plans import QuestionOptions
from experiment.imports.store.writing import import_file
from experiment.models import Item, ResearchField
from experiment.services.item_files import Wanted, download
from experiment.services.questions import WantedQuestions, content
from lib.spreadsheets import read_sheet
from tests import r_tables
from tests.experiment.imports.items.rows import table
from tests.factories import make_research_field
from tests.sheets import ods, xlsx

pytestmark = pytest.mark.django_db
N = 300
ODD = (
    "=1+1",
    "naïve 🙂",
    'said "no"',
    "two\nlines",
    "1,5; 2",
    "-",
    "“quoted”",
    " begins and ends ",
)
LIKE_VALUES = ("", "1", "1.0", "007", "1e5", "TRUE", "true", "NA", "NaN", "None", "null", "#N/A", "2024-01-05", "2024-01-05 00:00:00", "+1", "'1", "a\tb", "a\n")  # fmt: skip
NEW = {"markup": "An added row [[rose, fell]].", "question": "An added row?", "answer": "Yes."}


# How the docs say that a file is read whose keys or texts look like numbers, or like nothing
AS_TEXT: Mapping[str, Any] = {"dtype": str, "keep_default_na": False, "na_values": [""]}


def frames(exports: Mapping[str, bytes], *, as_text: bool = False) -> Iterator[tuple[str, bytes]]:
    """The export as each program writes it again, with a row added that has a text alone."""
    types = AS_TEXT if as_text else {}
    file = io.BytesIO(exports["xlsx"])
    read = {
        "pandas": pd.read_csv(io.BytesIO(exports["csv"]), **types),
        "pandas, from .xlsx": pd.read_excel(file, sheet_name="Data", engine="calamine", **types),
    }
    for name, frame in read.items():
        added = pd.DataFrame([{n: text for n, text in NEW.items() if n in frame}])
        longer = pd.concat([frame, added], ignore_index=True)
        yield f"{name}, CSV with an index", longer.to_csv(lineterminator="\r\n").encode()
        as_json = longer.to_json(orient="records", lines=True, date_format="iso")
        yield f"{name}, JSON Lines", as_json.encode()
        if "publication_date" in longer and not as_text:
            longer["publication_date"] = pd.to_datetime(longer["publication_date"])
        file = io.BytesIO()
        longer.to_parquet(file)
        yield f"{name}, Parquet", file.getvalue()
        file = io.BytesIO()
        longer.to_excel(file, index=False, engine="xlsxwriter")
        yield f"{name}, .xlsx", file.getvalue()
    cells = r_tables.read_csv(exports["csv"], ("",) if as_text else ("NA",), as_text=as_text)
    of_r = {name: [*values, NEW.get(name)] for name, values in cells.items()}
    yield "R", r_tables.write_csv(of_r)
    yield "R without names of rows", r_tables.write_csv(of_r, row_names=False)
    about = read_sheet(exports["xlsx"], name="Data")
    rows = [about.columns, *(cells for _, cells in about.rows), ()]
    rows += [[NEW.get(name, "") for name in about.columns]]
    yield "a spreadsheet, .xlsx", xlsx({"Data": rows})
    yield "a spreadsheet, .ods", ods({"Data": rows, "Notes": [("mine",)]})


@pytest.fixture
def cooking() -> ResearchField:
    return make_research_field("cooking", "Baking", "NA")


def items(key: str, total: int, notes: tuple[str, ...]) -> bytes:
    rows = []
    for n in range(1, total + 1):
        on = "" if n % 7 == 0 else date(1990, 1, 1) + timedelta(days=31 * n)
        row: list[Any] = [key.format(n), "machine" if n % 3 else "human", "4" if n % 5 else "", on]
        row += [
            f"Text {n} {ODD[n % 7]} that [[rose, fell]] by {n}.5%.",
            notes[n % len(notes)],
        ]
        rows.append(row)
    names = ["key", "source", "generator", "publication_date", "markup", "note"]
    return pd.DataFrame(rows, columns=names).to_csv(index=False).encode()


def check_unchanged(cooking: ResearchField, n: int, *, as_text: bool) -> None:
    exports = {form: download(Wanted(cooking, form, status="draft")) for form in ("csv", "xlsx")}
    for name, written in frames(exports, as_text=as_text):
        plan = AS_DRAFTS.plan(AS_DRAFTS.read(written), cooking, by=None)
        assert [str(problem) for problem in plan.problems] == [], name
        changed = [change for row in plan.rows for change in row.changes]
        assert (plan.count("unchanged"), plan.count("create"), changed) == (n, 1, []), name


@pytest.mark.parametrize(
    ("key", "notes", "as_text"),
    [("{}", ("", *ODD), False), ("{:03}", (*LIKE_VALUES, *ODD), True)],
)
def test_test_cases_survive_every_program(cooking, key, notes, as_text):
    given = items(key, N, notes)
    plan = import_file(AS_DRAFTS.read(given), cooking, ItemOptions())
    assert len(plan.rows) == N
    assert {*Item.objects.values_list("note", flat=True)} == {*notes}
    check_unchanged(cooking, N, as_text=as_text)


@pytest.mark.parametrize("note", ["", "007", "1.0", "TRUE", "2024-01-05"])
def test_a_column_of_texts_that_look_like_values_stays_one_of_texts(cooking, note):
    import_file(AS_DRAFTS.read(items("{:03}", 3, (note,))), cooking, ItemOptions())
    assert {*Item.objects.values_list("note", flat=True)} == {note}
    check_unchanged(cooking, 3, as_text=True)


def test_questions_survive_every_program(cooking):
    rows = [
        f'{n},t-{n % 3},"Question {n}: is it {ODD[n % 2]}?",Answer {n},a;b' for n in range(1, N + 1)
    ]
    header = "key,template,question,answer,topic_category"
    how = QuestionOptions()
    import_file(how.read(table(*rows, header=header)), cooking, how)
    drafts = [WantedQuestions(cooking, form, status="draft") for form in ("csv", "xlsx")]
    exports = {wanted.form: content(wanted, wanted.items) for wanted in drafts}
    for name, written in frames(exports):
        plan = how.plan(how.read(written), cooking, by=None)
        assert [str(problem) for problem in plan.problems] == [], name
        changed = [change for row in plan.rows for change in row.changes]
        assert (plan.count("unchanged"), plan.count("create"), changed) == (N, 1, []), name
