"""The columns of questions in an export, and that there are none without questions."""

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest
from django.utils import timezone

from experiment.domain.export_columns import QUESTION_COLUMNS, TRIAL_COLUMNS
from experiment.domain.release import Form
from experiment.domain.trial_query import TrialQuery
from experiment.models import Study
from experiment.services import withdrawal
from experiment.services.export.files import Manifest, export_trials
from experiment.services.export.trials import count, first_rows
from tests.experiment.asked import EXPERT, finish_with, make_asking_study
from tests.experiment.people import finish
from tests.experiment.services.export.command import export

pytestmark = pytest.mark.django_db
ALL = [column.name for column in (*TRIAL_COLUMNS, *QUESTION_COLUMNS)]


@pytest.fixture
def study() -> Study:
    return make_asking_study()


def written(study: Study, form: Form) -> tuple[io.BytesIO, Manifest]:
    file = io.BytesIO()
    return file, export_trials(study, TrialQuery(), file, form)


def test_columns_of_questions_come_last_and_say_what_was_written(study: Study, path: Path) -> None:
    finish_with(study, ("=1+1 is, 2", 60_000))
    rows = export(study, path=path)
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
    for words in ("", "It rises."):
        finish_with(study, (words, 60_000))
    columns = {column.name: column for column in (*TRIAL_COLUMNS, *QUESTION_COLUMNS)}
    file, _ = written(study, Form("jsonl"))
    for line in file.getvalue().splitlines():
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


def answers(rows: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [(row["answer_text"], row["abstained"]) for row in rows if row["stratum"] == "question"]


def test_rows_remain_of_erased_answers_and_tell_them_from_abstentions(
    study: Study, path: Path
) -> None:
    Study.objects.update(withdrawal_policy="anonymise")
    study.refresh_from_db()
    finish(study)
    person = finish(study)
    # Also where it asks none any more
    Study.objects.filter(pk=study.pk).update(question_items=0)
    study.refresh_from_db()
    assert answers(export(study, path=path)) == [("It rises.", "false")] * 4
    withdrawal.withdraw(study, person.withdrawal_code, timezone.now())
    kept = answers(export(study, path=path))
    assert sorted(kept) == [("", "false")] * 2 + [("It rises.", "false")] * 2


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
    file, manifest = written(Study.objects.get(), Form("psych-ds"))
    assert manifest.rows == 5
    about = json.loads(zipfile.ZipFile(file).read("dataset_description.json"))
    assert about["description"].startswith(said)


@pytest.mark.parametrize("words", [False, True])
def test_a_release_holds_words_only_where_somebody_asks_for_them(study: Study, words: bool) -> None:
    for _ in range(2):
        finish_with(study, ("I am the baker of the village.", 60_000))
    file, manifest = written(study, Form("csv", k=2, words=words))
    text = file.getvalue().decode()
    header, *rows = csv.reader(io.StringIO(text))
    assert len(rows) == 10
    assert text.count("baker") == (4 if words else 0)
    assert ("answer_text" in header) is words
    assert header[-3:] == ["abstained", "answer_first_ms", "answer_last_ms"]
    assert manifest.released is not None
    assert ("answer_text" in manifest.released["dropped"]) is not words
