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
from experiment.models import ResearchField
from experiment.services.item_files import Wanted, download
from experiment.services.questions import WantedQuestions, content
from lib.spreadsheets import read_sheet
from tests import r_tables
from tests.experiment.imports.items.rows import table
from tests.factories import make_research_field
from tests.sheets import ods, xlsx

pytestmark = pytest.mark.django_db
N = 300
ODD = ("=1+1", "naïve 🙂", 'said "no"', "two\nlines", "1,5; 2", "-", "“quoted”", " ends ")
NEW = {"markup": "An added row [[rose, fell]].", "question": "An added row?", "answer": "Yes."}


def frames(data: bytes, sheet: bytes, **types: Any) -> Iterator[tuple[str, bytes]]:
    """The export as each program writes it again, with a row added that has a text alone."""
    frame = pd.read_csv(io.BytesIO(data), **types)
    new = {name: text for name, text in NEW.items() if name in frame}
    longer = pd.concat([frame, pd.DataFrame([new])], ignore_index=True)
    yield "pandas, CSV", longer.to_csv(index=False).encode()
    yield "pandas, CSV with an index", longer.to_csv().encode()
    if "publication_date" in longer:
        longer["publication_date"] = pd.to_datetime(longer["publication_date"])
    for name, write in (
        ("pandas, Parquet", lambda to: longer.to_parquet(to)),
        ("pandas, .xlsx", lambda to: longer.to_excel(to, index=False, engine="xlsxwriter")),
    ):
        file = io.BytesIO()
        write(file)
        yield name, file.getvalue()
    na = ("",) if types else ("NA",)
    read: Mapping[str, r_tables.Column] = {
        name: [*cells, new.get(name)] for name, cells in r_tables.read_csv(data, na).items()
    }
    if not types:  # R makes numbers of the keys 001, too
        yield "R", r_tables.write_csv(read)
        yield "R without names of rows", r_tables.write_csv(read, row_names=False)
    about = read_sheet(sheet, name="Data")
    added = [new.get(name, "") for name in about.columns]
    rows = [about.columns, *(cells for _, cells in about.rows), (), added]
    yield "a spreadsheet, .xlsx", xlsx({"Data": rows})
    yield "a spreadsheet, .ods", ods({"Data": rows, "Notes": [("mine",)]})


# How the docs say that a data frame reads a file whose keys look like numbers, or whose texts look like nothing
AS_TEXT: Mapping[str, Any] = {
    "dtype": {"key": str, "generator": str},
    "keep_default_na": False,
    "na_values": [""],
}


@pytest.fixture
def cooking() -> ResearchField:
    return make_research_field("cooking", "Baking", "NA")


def items(key: str, *, odd_notes: tuple[str, ...]) -> bytes:
    rows = []
    for n in range(1, N + 1):
        on = "" if n % 7 == 0 else date(1990, 1, 1) + timedelta(days=31 * n)
        row: list[Any] = [key.format(n), "machine" if n % 3 else "human", "4" if n % 5 else "", on]
        row += [
            f"Text {n} {ODD[n % 7]} that [[rose, fell]] by {n}.5%.",
            odd_notes[n % len(odd_notes)],
        ]
        rows.append(row)
    names = ["key", "source", "generator", "publication_date", "markup", "note"]
    return pd.DataFrame(rows, columns=names).to_csv(index=False).encode()


@pytest.mark.parametrize(
    ("key", "types", "notes"),
    [("{}", {}, ("", *ODD)), ("{:03}", AS_TEXT, ("NA", "None", "", "1.0", *ODD))],
)
def test_test_cases_survive_every_program(cooking, key, types, notes):
    given = items(key, odd_notes=notes)
    plan = import_file(AS_DRAFTS.read(given), cooking, ItemOptions())
    assert len(plan.rows) == N
    drafts = Wanted(cooking, status="draft")
    data, sheet = download(drafts), download(Wanted(cooking, "xlsx", status="draft"))
    for name, written in frames(data, sheet, **types):
        plan = AS_DRAFTS.plan(AS_DRAFTS.read(written), cooking, by=None)
        assert [str(problem) for problem in plan.problems] == [], name
        changed = [change for row in plan.rows for change in row.changes]
        assert (plan.count("unchanged"), plan.count("create"), changed) == (N, 1, []), name


def test_questions_survive_every_program(cooking):
    rows = [
        f'{n},t-{n % 3},"Question {n}: is it {ODD[n % 2]}?",Answer {n},a;b' for n in range(1, N + 1)
    ]
    header = "key,template,question,answer,topic_category"
    how = QuestionOptions()
    import_file(how.read(table(*rows, header=header)), cooking, how)
    drafts = [WantedQuestions(cooking, form, status="draft") for form in ("csv", "xlsx")]
    data, sheet = (content(wanted, wanted.items) for wanted in drafts)
    for name, written in frames(data, sheet):
        plan = how.plan(how.read(written), cooking, by=None)
        assert [str(problem) for problem in plan.problems] == [], name
        changed = [change for row in plan.rows for change in row.changes]
        assert (plan.count("unchanged"), plan.count("create"), changed) == (N, 1, []), name
