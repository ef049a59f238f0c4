"""Each format is read by the tools that researchers use, with the types that the codebook says."""

import csv
import io
import json
import re
from datetime import UTC, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from django.utils import timezone

from experiment.domain.export_columns import TRIAL_COLUMNS
from experiment.domain.release import FORMATS, Form, parse
from experiment.domain.trial_query import QueryError, TrialQuery
from experiment.models import Judgment, Study
from experiment.models.triggers import drop_triggers, install_triggers
from experiment.services.export import trials as trial_rows
from experiment.services.export.files import export_trials
from experiment.services.export.trials import first_rows
from lib import table_files
from tests.experiment.services.export.command import export
from tests.experiment.services.export.plain_export import plain_csv
from tests.exported import read_csv
from tests.factories import NOW, answers_open, make_participant, make_study

pytestmark = pytest.mark.django_db
AWKWARD = '=1+1 "naïve",\r\n\u2028🙂'
CELLS = ["", "=1+1", 'a "b", c', "line\nline\r\n", "\u00b5 \u2028 \U0001f642", " ,"]
TYPES = {column.name: column.type for column in TRIAL_COLUMNS}


@pytest.fixture
def study() -> Study:
    study = make_study()
    make_participant(study, demographics={"age": 34, "position": AWKWARD})
    make_participant(study, judged=3, judgment={"rt_ms": None, "confidence": None})
    return study


def written(study: Study, form: Form) -> io.BytesIO:
    file = io.BytesIO()
    export_trials(study, TrialQuery(), file, form)
    return file


def expected(study: Study) -> list[dict[str, Any]]:
    return first_rows(study, TrialQuery(kind="real"), 100)


def test_a_json_line_holds_numbers_booleans_and_null(study: Study) -> None:
    lines = written(study, Form("jsonl")).getvalue().decode().split("\n")
    assert lines.pop() == ""
    rows = [json.loads(line) for line in lines]
    for row, values in zip(rows, expected(study), strict=True):
        assert list(row) == list(values)
        for name, value in values.items():
            if TYPES[name] in ("date", "time"):
                value = value and value.isoformat()
            assert (row[name], type(row[name])) == (value, type(value)), name


@pytest.mark.parametrize("rows_in_a_block", [2, 5, 2_000])
def test_a_parquet_file_holds_the_types_of_the_codebook(
    study: Study, rows_in_a_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_rows, "ROWS", rows_in_a_block)
    monkeypatch.setattr(table_files, "ROW_GROUP", 4)
    table = pq.read_table(written(study, Form("parquet")))
    assert table.to_pylist() == expected(study)
    wanted = {
        "text": "string",
        "integer": "int64",
        "boolean": "bool",
        "date": "date32[day]",
        "time": "timestamp[us, tz=UTC]",
    }
    assert {f.name: str(f.type) for f in table.schema} == {n: wanted[t] for n, t in TYPES.items()}
    assert {f.name: f.nullable for f in table.schema} == {
        column.name: bool(column.null) for column in TRIAL_COLUMNS
    }


def test_equal_data_are_equal_bytes(study: Study) -> None:
    for name in FORMATS:
        one, other = (written(study, Form(name)).getvalue() for _ in range(2))
        assert one == other


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_without_rows_is_whole(name: str) -> None:
    file = written(make_study(), Form(name))
    table = READ[name](file)
    assert len(table) == 0
    if name != "jsonl":  # which has no place for names
        assert list(table.columns) == list(TYPES)


READ = {
    "csv": partial(read_csv, dtype={"item_key": str}),
    "jsonl": partial(pd.read_json, lines=True, dtype=False),
    "parquet": pd.read_parquet,
    "xlsx": partial(
        pd.read_excel,
        engine="calamine",
        dtype={"item_key": str},
        keep_default_na=False,
        na_values=[""],
    ),
}
POLARS = {
    "csv": lambda file: pl.read_csv(file, infer_schema_length=None),
    "jsonl": lambda file: pl.read_ndjson(file, infer_schema_length=None),
    "parquet": pl.read_parquet,
}


@pytest.mark.parametrize("name", FORMATS)
def test_pandas_and_polars_read_it(study: Study, name: str) -> None:
    file, values = written(study, Form(name)), expected(study)
    table = READ[name](file)
    assert len(table) == 14
    assert table["correct"].dtype == bool
    assert table["included"].sum() == sum(row["included"] for row in values)
    assert table["rt_ms"].sum() == sum(row["rt_ms"] or 0 for row in values)
    assert table["rt_ms"].isna().sum() == 3
    assert pd.to_numeric(table["age"]).iloc[0] == 34
    text = table["position_held"].iloc[0]
    assert text == ("'" if name in ("csv", "xlsx") else "") + AWKWARD
    shown = pd.to_datetime(table["shown_at"], utc=True)
    assert shown.iloc[0] == values[0]["shown_at"].astimezone(UTC)
    file.seek(0)
    if name not in POLARS:  # it reads sheets by another library
        return
    frame = POLARS[name](file)
    assert (frame["correct"].dtype, frame["rt_ms"].dtype) == (pl.Boolean, pl.Int64)
    for column in ("position", "rt_ms", "text"):
        assert frame[column].to_list() == [row[column] for row in values]


@pytest.mark.parametrize("name", FORMATS)
def test_texts_that_programs_take_for_nothing_or_numbers_are_read_as_they_are(name: str) -> None:
    study = make_study()
    make_participant(study, demographics={"country": "NA"})  # Namibia
    study.items.update(subfield="None")
    drop_triggers("default")
    keys = {f"{n:03}" for n in range(study.items.count())}
    for item, key in zip(study.items.all(), keys, strict=True):
        study.items.filter(pk=item.pk).update(key=key)
    install_triggers("default")
    table = READ[name](written(study, Form(name)))
    assert set(table["country"]) == {"NA"}
    assert set(table["subfield"]) == {"None"}
    assert set(table["item_key"]) <= keys
    assert table["gender"].isna().all()


@pytest.mark.parametrize(
    "place",
    [
        "docs/participants.md",
        "experiment/domain/export_columns.py",
        "experiment/services/export/data_set.py",
        "templates/lab/tokens/snippets/pandas.txt",
        "templates/lab/tokens/snippets/r.txt",
    ],
)
def test_every_line_that_reads_an_export_says_what_is_missing_there(
    place: str, settings: Any
) -> None:
    text = (settings.BASE_DIR / place).read_text()
    calls = re.findall(r"(read_csv|read\.csv)\(([^`\n]*)", text)
    of_pandas = [c for f, c in calls if f == "read_csv" and "infer_schema_length" not in c]
    assert calls
    assert all('keep_default_na=False, na_values=[""]' in call for call in of_pandas)
    assert all('na.strings = ""' in call for f, call in calls if f == "read.csv")


def test_a_byte_order_mark_comes_on_request_and_changes_nothing_else(study: Study) -> None:
    plain, marked = written(study, Form()).getvalue(), written(study, Form(bom=True)).getvalue()
    assert marked == b"\xef\xbb\xbf" + plain
    rows = csv.DictReader(io.StringIO(marked.decode("utf-8-sig")))
    assert next(iter(rows))["study"] == "memory"


@pytest.mark.parametrize(
    "values",
    [
        {"release": ["yes"]},
        {"bom": ["maybe"]},
        {"format": ["parquet"], "bom": ["true"]},
        {"k": ["5"]},
        {"words": ["true"], "release": ["false"]},
    ],
)
def test_an_unknown_form_is_refused(values: dict[str, list[str]]) -> None:
    with pytest.raises(QueryError):
        parse(values)


@pytest.mark.drifts  # writes judgments itself
@pytest.mark.parametrize("rows_in_a_block", [1, 7, 2_000])
@pytest.mark.parametrize("zone", ["UTC", "America/St_Johns"])
def test_the_bytes_are_those_of_writing_each_cell_by_itself(
    tmp_path: Path, rows_in_a_block: int, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make_study(ethics_body="Board, of ethics", ethics_number="=7")
    monkeypatch.setattr(trial_rows, "ROWS", rows_in_a_block)
    monkeypatch.setattr("experiment.services.export.values.ITEMS_KEPT", 5)
    for n, text in enumerate(CELLS):
        make_participant(
            study,
            published_id=text,
            excluded_by="missed_catch" if n == 1 else "",
            flags="fast_page" if n == 2 else "",
            judged=n if n > 3 else None,
            demographics={"country": text, "age": 30 + n, "experience_years": 2.5},
            consent_version=None if n == 5 else study.consent,
            finished_at=None if n > 3 else NOW + timedelta(days=60 * n, microseconds=7 * n),
            judgment={"rt_ms": 5_000 * n, "confidence": n or None, "flags": "hidden" * (n % 2)},
        )
    with answers_open():
        Judgment.objects.filter(trial__position=3).update(excluded_by="recognised", recognised=True)
        Judgment.objects.filter(trial__position=2).update(received_at=None, rt_ms=None, side="")
    study.items.filter(key__endswith="2").update(subfield='Mice, "men"', generator="@who")
    with timezone.override(zone):
        export(study, path=tmp_path / "trials.csv")
        assert (tmp_path / "trials.csv").read_bytes() == plain_csv(study, "real")
