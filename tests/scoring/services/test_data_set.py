"""A study's whole data set has its questions, models' answers and all grades, and for the public nothing that quotes a participant."""

import io
import json
import zipfile
from typing import Any
from uuid import UUID

import pandas as pd
import pytest

from experiment.domain.release import DATA_SET, Form
from experiment.domain.trial_query import TrialQuery
from experiment.models import Judgment, Participant, Study
from experiment.services.export import data_set
from experiment.services.export.files import export_trials
from scoring.models import Answer, PersonGrade
from scoring.services.asking.settings import Asked
from scoring.services.grading import runs
from tests.experiment.services.export.test_psych_ds import problems
from tests.exported import read_csv
from tests.factories import make_user
from tests.scoring.services.grading.rows import (  # fmt: skip
    grading,
    make_answers,
    make_empty_study,
    make_written,
)

pytestmark = pytest.mark.django_db
QUESTIONS = ["questions", "modelanswers", "judgegrades", "persongrades"]


@pytest.fixture
def study() -> Study:
    """Two models' answers and two participants' to two questions, all graded; one answer by a person each.

    Who came last is the first by pseudonym.
    """
    study = make_empty_study()
    study.question_items = 1
    study.save()
    make_answers(study, ["Gene 1.", "No idea, they said."])
    make_answers(study, ["Gene 1.", ("", "filtered")], "lab/other", is_simulated=True)
    written = [make_written(study, "Mine is xanthan.", 2), make_written(study, "Gene 1.", 1)]
    for judgment, n in zip(written, (2, 1), strict=True):
        of_judgment = Participant.objects.filter(trials__judgment=judgment)
        of_judgment.update(public_id=UUID(int=n))
    runs.run(grading(study, Asked("exact", {}), people=True))
    ada = make_user("ada", study)
    for row in (Answer.objects.earliest("pk").pk, -written[0].pk):
        PersonGrade.objects.create(
            grader=ada, points=1, level=2, deductions=["misleading additions"], abstained=False, note="It says xanthan.", seconds=3,
            **({"answer_id": row} if row > 0 else {"judgment_id": -row}),
        )  # fmt: skip
    return study


def written_set(
    study: Study, query: TrialQuery | None = None, form: Form | None = None
) -> tuple[dict[str, pd.DataFrame], zipfile.ZipFile, dict[str, Any]]:
    file = io.BytesIO()
    manifest = export_trials(study, query or TrialQuery("all"), file, form or Form(DATA_SET))
    archive = zipfile.ZipFile(file)
    names = list(manifest.table_rows)
    files = (archive.open(f"data/study-genes_description-{name}_data.csv") for name in names)
    tables = dict(zip(names, map(read_csv, files), strict=True))
    assert {name: len(table) for name, table in tables.items()} == manifest.table_rows
    return tables, archive, manifest.as_dict()


def test_answers_and_grades_are_there_and_join(study: Study) -> None:
    tables, archive, _ = written_set(study)
    assert problems(archive) == []
    questions, answers, judged, given = (tables[name] for name in QUESTIONS)
    item = ["item_key", "item_version"]
    assert list(questions["expert_answer"]) == ["Gene 1.", "Gene 2."]
    assert len(answers.merge(questions, on=item)) == len(answers) == 4
    assert list(answers["finish"]) == ["stop", "stop", "stop", "filtered"]
    assert list(answers["is_simulated"]) == [False, False, True, True]
    graded = answers.merge(judged, on=["answering_run", *item], suffixes=("", "_judge"))
    assert list(graded["fate"]) == ["good", "bad", "good", "unparsed"]
    of_people = tables["trials"].merge(judged, on=["participant", *item], how="left")
    fates = dict(zip(of_people["answer_text"], of_people["fate"], strict=True))
    assert fates == {"Mine is xanthan.": "bad", "Gene 1.": "good"}
    assert list(given["grader"]) == ["g1", "g1"]
    assert list(given["note"]) == ["It says xanthan."] * 2
    variables = json.loads(archive.read("dataset_description.json"))["variableMeasured"]
    described = {variable["name"]: variable["description"] for variable in variables}
    assert described.keys() >= {name for table in tables.values() for name in table.columns}
    assert "Empty: a model's answer." in described["participant"]


def test_grades_of_participants_are_of_the_trials_alone(study: Study) -> None:
    Judgment.objects.filter(written_answer__text="Mine is xanthan.").update(excluded_by="too_fast")
    tables, _, _ = written_set(study, TrialQuery("analysis"))
    assert tables["judgegrades"]["participant"].notna().sum() == len(tables["trials"]) == 1
    assert tables["persongrades"]["participant"].isna().all()
    assert len(tables["modelanswers"]) == 4


def test_a_question_that_is_asked_for_brings_its_own_answers_alone(study: Study) -> None:
    tables, _, _ = written_set(study, TrialQuery("all", items=("question-2",)))
    assert all(set(tables[name]["item_key"]) <= {"question-2"} for name in QUESTIONS)
    assert [len(tables[name]) for name in QUESTIONS] == [1, 2, 3, 1]


@pytest.mark.parametrize("words", [False, True])
def test_the_public_reads_what_may_quote_participants_only_where_asked_for(
    study: Study, words: bool
) -> None:
    tables, archive, manifest = written_set(study, form=Form(DATA_SET, k=2, words=words))
    found = [name for name in archive.namelist() if b"xanthan" in archive.read(name)]
    assert bool(found) == words
    assert ("judge_text" in tables["judgegrades"]) == ("note" in tables["persongrades"]) == words
    assert not {"at", "seconds"} & set(tables["persongrades"])
    assert list(tables["modelanswers"]["model_answer"][:1]) == ["Gene 1."]
    came = tables["judgegrades"]["participant"].dropna().unique()
    assert list(came) == sorted(came)
    dropped = set(manifest["released"]["dropped"])
    assert "persongrades.at" in dropped
    assert ("persongrades.note" in dropped) != words


def test_a_grade_makes_it_another_data_set(study: Study) -> None:
    before = data_set.states(study)
    assert data_set.states(study) == before
    PersonGrade.objects.filter(answer__isnull=False).update(note="Another.")
    noted = data_set.states(study)
    runs.run(grading(study, Asked("exact", {})))
    assert len({str(before), str(noted), str(data_set.states(study))}) == 3
