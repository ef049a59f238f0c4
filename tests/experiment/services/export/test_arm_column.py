"""The column of arms in an export, and that a study without arms is exported as before."""

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest

from experiment.domain.export_columns import TRIAL_COLUMNS
from experiment.domain.release import Form
from experiment.domain.trial_query import TrialQuery
from experiment.models import Study
from experiment.services.export.files import export_trials
from experiment.services.export.trials import data_state, first_rows
from tests.experiment.people import finish
from tests.experiment.services.export.command import export
from tests.factories import make_arms, make_study

pytestmark = pytest.mark.django_db
QUERY = TrialQuery(kind="real")


def content(study: Study, form: Form) -> bytes:
    file = io.BytesIO()
    export_trials(study, QUERY, file, form)
    return file.getvalue()


def test_without_arms_a_study_is_exported_byte_for_byte_as_before_others_had_any(
    study: Study,
) -> None:
    finish(study)
    before = {form: content(study, Form(form)) for form in ("csv", "jsonl", "parquet")}
    state = data_state(study, QUERY)
    other = make_study("other", recruitment="open")
    make_arms(other)
    finish(other)
    assert {form: content(study, Form(form)) for form in before} == before
    assert data_state(study, QUERY) == state
    header = before["csv"].decode().splitlines()[0]
    assert header.split(",") == [column.name for column in TRIAL_COLUMNS]


def test_the_arm_comes_last_by_its_name_of_today(study: Study, path: Path) -> None:
    make_arms(study, {"name": "alone"}, {"name": "advised"})
    people = [finish(study), finish(study)]
    rows = export(study, path=path)
    assert list(rows[0]) == [*(column.name for column in TRIAL_COLUMNS), "arm"]
    assert {row["participant"]: row["arm"] for row in rows} == {
        str(person.public_id): person.arm.name for person in people
    }
    before = data_state(study, QUERY)
    study.arms.filter(name="alone").update(name="by oneself")
    assert data_state(study, QUERY) != before
    assert {row["arm"] for row in first_rows(study, QUERY, 100)} == {"by oneself", "advised"}


def test_a_data_set_says_the_arm_of_trials_and_participants(study: Study) -> None:
    make_arms(study, {"name": "alone"})
    finish(study)
    archive = zipfile.ZipFile(io.BytesIO(content(study, Form("psych-ds"))))
    for table in ("trials", "participants"):
        (name,) = (n for n in archive.namelist() if n.endswith(f"description-{table}_data.csv"))
        rows = csv.DictReader(io.StringIO(archive.read(name).decode()))
        assert {row["arm"] for row in rows} == {"alone"}
    described = json.loads(archive.read("dataset_description.json"))
    assert "arm" in {variable["name"] for variable in described["variableMeasured"]}
