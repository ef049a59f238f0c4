"""What an export says of questions, and that it says nothing where there are none."""

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest
from django.utils import timezone

from experiment.domain.codebook import QUESTION_COLUMNS, TRIAL_COLUMNS
from experiment.domain.release import Form
from experiment.domain.trial_query import TrialQuery
from experiment.models import Study
from experiment.services import drawing, taking_part, withdrawal
from experiment.services.export.files import export_trials
from experiment.services.export.trials import count, first_rows
from tests.experiment.asked import EXPERT, make_asking_study
from tests.experiment.people import answer, finish, start
from tests.experiment.services.export.command import export
from tests.experiment.services.test_taking_questions import sent
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db
ALL = [column.name for column in (*TRIAL_COLUMNS, *QUESTION_COLUMNS)]


@pytest.fixture
def study() -> Study:
    return make_asking_study()


def written(study: Study, form: Form, set_name: str = "all") -> str:
    file = io.BytesIO()
    export_trials(study, TrialQuery(set=set_name), file, form)
    return file.read().decode()


def answer_with(study: Study, reply: taking_part.Written) -> None:
    """One finishes who gives this answer to every question."""
    person = start(study)
    for position in range(1, study.n_trials + 1):
        if person.is_asked(position):
            trial = drawing.show_trial(person, position, timezone.now())
            given = {} if reply.abstained else {"confidence": 70, "confidence_moved": True}
            taking_part.judge(person, sent(trial, reply, rt_ms=60_000, **given))
            person.refresh_from_db()
        else:
            person = answer(person, until=position)
    taking_part.finish(person, cheated=False, comments="", now=timezone.now())


def test_without_questions_there_are_no_columns_of_them(tmp_path: Path) -> None:
    plain = make_study()
    make_participant(plain)
    assert list(export(plain, path=tmp_path / "trials.csv")[0]) == ALL[: len(TRIAL_COLUMNS)]


def test_columns_of_questions_come_last_and_say_what_was_written(
    study: Study, tmp_path: Path
) -> None:
    answer_with(study, taking_part.Written("=1+1 is, 2", first_ms=9_000, last_ms=61_000))
    rows = export(study, path=tmp_path / "trials.csv")
    assert list(rows[0]) == ALL
    asked = [row for row in rows if row["stratum"] == "question"]
    others = [row for row in rows if row["stratum"] != "question"]
    assert (len(asked), len(others)) == (2, 3)
    for row in asked:
        # A spreadsheet would run it
        assert row["answer_text"] == "'=1+1 is, 2"
        assert (row["abstained"], row["answer_first_ms"]) == ("false", "9000")
        assert (row["correct"], row["side"], row["original_side"]) == ("", "", "")
        assert (row["included"], row["confidence"]) == ("true", "70")
        assert row["text"].endswith("<overnight>?")
        assert EXPERT not in "".join(row.values())
    for row in others:
        assert [row[column.name] for column in QUESTION_COLUMNS] == [""] * 4
        assert row["correct"] == "true"


def test_cells_of_questions_hold_what_the_codebook_allows(study: Study) -> None:
    answer_with(study, taking_part.Written(abstained=True))
    answer_with(study, taking_part.Written("It rises."))
    columns = {column.name: column for column in (*TRIAL_COLUMNS, *QUESTION_COLUMNS)}
    for line in written(study, Form("jsonl")).splitlines():
        row = json.loads(line)
        assert list(row) == ALL
        for name, value in row.items():
            assert value is not None or columns[name].null, name
            assert not columns[name].levels or value is None or value in columns[name].levels
        if row["stratum"] == "question":
            assert row["abstained"] is (row["answer_text"] is None)


def test_the_analysis_holds_questions_and_counts_them(study: Study) -> None:
    finish(study)
    query = TrialQuery(set="analysis", kind="real")
    rows = first_rows(study, query, 100)
    assert sorted(row["stratum"] for row in rows) == ["human", "human", "question", "question"]
    assert count(study, query) == 4


@pytest.mark.parametrize("name", ["csv", "jsonl", "parquet", "psych-ds"])
def test_every_format_takes_them(study: Study, name: str) -> None:
    finish(study)
    file = io.BytesIO()
    manifest = export_trials(study, TrialQuery(), file, Form(name))
    assert manifest.rows == 5
    assert file.read(4)


@pytest.mark.parametrize(
    ("abstracts", "said"),
    [
        (2, "Judgments of pairs of abstracts, and answers to questions, in the study"),
        (0, "Answers to questions in the study"),
    ],
)
def test_the_description_says_what_was_asked(study: Study, abstracts: int, said: str) -> None:
    finish(study)
    Study.objects.update(human_items=abstracts, machine_items=0, catch_items=0)
    file = io.BytesIO()
    export_trials(Study.objects.get(), TrialQuery(), file, Form("psych-ds"))
    about = json.loads(zipfile.ZipFile(file).read("dataset_description.json"))
    assert about["description"].startswith(said)


def test_a_release_holds_no_words_of_anybody(study: Study) -> None:
    for _ in range(2):
        answer_with(study, taking_part.Written("I am the baker of the village."))
    file = io.BytesIO()
    manifest = export_trials(study, TrialQuery(), file, Form("csv", k=2))
    text = file.read().decode()
    header, *rows = csv.reader(io.StringIO(text))
    assert "baker" not in text
    assert "answer_text" not in header
    assert header[-3:] == ["abstained", "answer_first_ms", "answer_last_ms"]
    assert len(rows) == 10
    assert manifest.released is not None
    assert "answer_text" in manifest.released["dropped"]


def test_a_release_holds_them_where_somebody_asks_for_it(study: Study) -> None:
    for _ in range(2):
        answer_with(study, taking_part.Written("It rises."))
    file = io.BytesIO()
    manifest = export_trials(study, TrialQuery(), file, Form("csv", k=2, words=True))
    rows = list(csv.DictReader(io.StringIO(file.read().decode())))
    assert [row["answer_text"] for row in rows if row["stratum"] == "question"] == ["It rises."] * 4
    assert manifest.released is not None
    assert "answer_text" not in manifest.released["dropped"]


def test_whose_words_were_erased_still_has_rows_that_say_who_answered(
    study: Study, tmp_path: Path
) -> None:
    Study.objects.update(withdrawal_policy="anonymise")
    study.refresh_from_db()
    person = finish(study)
    withdrawal.withdraw(study, person.withdrawal_code, timezone.now())
    rows = export(study, path=tmp_path / "trials.csv")
    asked = [row for row in rows if row["stratum"] == "question"]
    assert [(row["answer_text"], row["abstained"]) for row in asked] == [("", "false")] * 2


def test_a_study_that_asked_before_still_exports_what_was_written(
    study: Study, tmp_path: Path
) -> None:
    finish(study)
    Study.objects.filter(pk=study.pk).update(question_items=0)
    study.refresh_from_db()
    rows = export(study, path=tmp_path / "trials.csv")
    assert [row["answer_text"] for row in rows if row["stratum"] == "question"] == ["It rises."] * 2
