"""The columns of survey questions in an export, and that a study without any is exported as before."""

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest
from django.utils import timezone

from experiment.domain.export_columns import TRIAL_COLUMNS
from experiment.domain.release import Form
from experiment.domain.trial_query import TrialQuery
from experiment.models import Study, SurveyQuestion
from experiment.services import taking_part
from experiment.services.export.files import export_trials
from experiment.services.export.trials import data_state, first_rows
from experiment.services.survey import move_question_up
from tests.experiment.people import answer, enroll, finish
from tests.experiment.services.export.command import export
from tests.factories import make_study, make_survey

pytestmark = pytest.mark.django_db
QUERY = TrialQuery(kind="real")
GIVEN = {"choice": "yes", "scale": "5", "number": "4.5", "text": "=1+1", "attention": "red"}
COLUMNS = [f"survey_{name}" for name in GIVEN]


def take(study: Study, **answers: str) -> None:
    person = taking_part.save_demographics(enroll(study), {"age": "34"}, timezone.now())
    place = SurveyQuestion.Place.BEFORE
    person = taking_part.save_survey(person, place, answers, timezone.now())
    right = taking_part.practice_side(person)
    person = taking_part.attempt_practice(person, right, timezone.now())
    answer(taking_part.start_trials(person, timezone.now()), until=2)


def content(study: Study, form: Form) -> bytes:
    file = io.BytesIO()
    export_trials(study, QUERY, file, form)
    return file.getvalue()


def test_without_survey_questions_a_study_is_exported_byte_for_byte_as_before_others_had_any(
    study: Study,
) -> None:
    finish(study)
    before = {form: content(study, Form(form)) for form in ("csv", "jsonl", "parquet")}
    state = data_state(study, QUERY)
    make_survey(make_study("other", recruitment="open"))
    assert {form: content(study, Form(form)) for form in before} == before
    assert data_state(study, QUERY) == state


def test_answers_are_on_each_row_of_their_participant_with_their_types(
    study: Study, path: Path
) -> None:
    make_survey(study, required=False)
    take(study, **GIVEN)
    take(study, choice="no")
    rows = first_rows(study, QUERY, 10)
    assert list(rows[0]) == [*(column.name for column in TRIAL_COLUMNS), *COLUMNS]
    said = [[row[name] for name in COLUMNS] for row in rows]
    assert said == 2 * [["yes", 5, 4.5, "=1+1", "red"]] + 2 * [["no", None, None, None, None]]
    assert export(study, path=path)[0]["survey_text"] == "'=1+1"
    for form in ("jsonl", "parquet"):
        assert content(study, Form(form))


def test_a_data_set_states_each_question_and_a_release_has_them_with_words_alone(
    study: Study,
) -> None:
    make_survey(study)
    take(study, **GIVEN)
    archive = zipfile.ZipFile(io.BytesIO(content(study, Form("psych-ds"))))
    for table in ("trials", "participants"):
        (name,) = (n for n in archive.namelist() if n.endswith(f"description-{table}_data.csv"))
        rows = csv.DictReader(io.StringIO(archive.read(name).decode()))
        assert {row["survey_number"] for row in rows} == {"4.5"}
    described = json.loads(archive.read("dataset_description.json"))
    said = {variable["name"]: variable["description"] for variable in described["variableMeasured"]}
    assert "“Your scale?”, asked before the trials: from 1, “not at all”" in said["survey_scale"]
    assert "“blue” is the right answer" in said["survey_attention"]
    public = {
        words: content(study, Form("csv", k=2, words=words)).decode().splitlines()[0]
        for words in (False, True)
    }
    assert "survey_" not in public[False]
    assert all(column in public[True] for column in COLUMNS)


def test_another_order_of_questions_is_another_file(study: Study) -> None:
    study.recruitment = "draft"
    first = make_survey(study, "choice", "text")
    state = data_state(study, QUERY)
    move_question_up(first[1])
    study.refresh_from_db()
    assert data_state(study, QUERY) != state
