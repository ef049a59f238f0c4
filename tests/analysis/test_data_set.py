"""The whole data set: people's tables and models' join, and each file follows the rules that the others do."""

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analysis import data_set
from experiment.domain.release import DATA_SET, Form
from experiment.domain.trial_query import TrialQuery
from experiment.models import (
    AuditEvent,
    Item,
    Judgment,
    Participant,
    Study,
    SurveyAnswer,
    TrialExport,
)
from experiment.models.triggers import drop_triggers, install_triggers
from experiment.services.export import jobs
from experiment.services.export.files import export_trials
from experiment.services.export.release import export_identities
from lib.formulas import unguarded
from scoring.models import ItemScore
from scoring.services.execute import execute
from tests.analysis.data.advising import advise
from tests.analysis.data.choosing import always_a, choose
from tests.analysis.data.graded_rows import make_questions, write
from tests.experiment.services.export.test_psych_ds import problems
from tests.exported import read_csv
from tests.factories import (
    make_adviser,
    make_arms,
    make_participant,
    make_study,
    make_survey,
    make_user,
)
from tests.scoring.lab.rows import ask
from tests.scoring.ngram_backend import NgramBackend
from tests.spreadsheet import MARKS, formulas
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study()
    for country in ("GB", "FR"):
        make_participant(study, demographics={"country": country})
    execute(ask(study, "lab/one"), backend=NgramBackend())
    return study


def test_models_and_trials_join(study: Study, tmp_path: Path) -> None:
    place = tmp_path / "all.zip"
    asked = ("export_dataset", "memory", "--set", "all", "--output")
    call_command(*asked, str(place), stdout=io.StringIO())
    archive = zipfile.ZipFile(place)
    assert problems(archive) == []
    names = ["trials", "participants", "items", "itemscores", "trialsmodels"]
    files = {name: f"data/study-memory_description-{name}_data.csv" for name in names}
    trials, _, items, scores, joined = (read_csv(archive.open(files[n])) for n in names)
    key = ["item_key", "item_version"]
    assert len(joined) == len(trials) == 22
    described = json.loads(archive.read("dataset_description.json"))["variableMeasured"]
    said = {one["name"]: one["description"] for one in described}
    assert "participant's random draws" in said["seed"]
    assert "In itemscores: Random seed of the swapped results." in said["seed"]
    assert set(scores["model"]) == {"lab/one"}
    assert ((scores["ppl_altered"] - scores["ppl_original"]) == scores["difficulty"]).all()
    beside = joined.merge(scores, on=key, how="left")
    assert len(beside) == len(joined)
    pd.testing.assert_series_equal(
        beside["difficulty"], joined["difficulty__one_6916"], check_names=False
    )
    tests = joined["item_key"].str.contains("catch")
    assert joined.loc[~tests, "model_correct__one_6916"].notna().all()
    assert set(items["item_key"]) == set(trials["item_key"])
    assert AuditEvent.objects.filter(action="exported").count() == 1


def test_a_model_that_was_asked_has_rows_beside_those_of_its_scores(study: Study) -> None:
    run = choose(study, "lab/one", always_a)
    scores = table(study, TrialQuery(), "itemscores")
    assert set(scores["model"]) == {"lab/one"}
    asked = scores[scores["model_method"] == "choice"]
    assert set(asked["run"]) == {run.pk}
    # A tie in each, and one answer in each order is no probability
    nothing = ["ppl_original", "difficulty", "model_p_original"]
    assert asked[nothing].isna().all(axis=None)
    assert (asked[["margin_nats", "model_correct"]] == [0, 0.5]).all(axis=None)
    assert scores.loc[scores["model_method"] == "perplexity", "model_correct"].notna().all()
    joined = table(study, TrialQuery(), "trialsmodels")
    assert set(joined["margin_nats__one_6916"].dropna()) == {0}
    assert set(joined["choice_correct__one_6916"].dropna()) == {0.5}


def test_trials_beside_models_tell_own_answers_from_those_after_advice() -> None:
    study = make_study()
    (arm,) = make_arms(study, {"name": "after", "advice": "after"})
    make_adviser(study)
    advise(make_participant(study, arm=arm), "after")
    joined = table(study, TrialQuery(), "trialsmodels")
    after = joined[joined["advice_procedure"] == "after"]
    assert len(after)
    assert (after["correct"] == 1).all()
    assert (after["first_correct"] == 0).all()
    assert (after["first_confidence"] == 30).all()


def test_the_data_set_of_questions_alone_has_no_tables_of_pairs(tmp_path: Path) -> None:
    quiz = make_questions()
    write(quiz, ["Some words"])
    asked = ("export_dataset", "quiz", "--set", "all", "--output", str(tmp_path / "all.zip"))
    call_command(*asked, stdout=io.StringIO())
    files = zipfile.ZipFile(tmp_path / "all.zip").namelist()
    tables = {name.split("-")[-1] for name in files if name.endswith("_data.csv")}
    assert tables == {
        f"{name}_data.csv" for name in ("trials", "participants", "items", "questions")
    }


def test_a_folder_appears_whole_and_is_never_written_over(study: Study, tmp_path: Path) -> None:
    place = tmp_path / "folder"
    asked = ("export_dataset", "memory", "--set", "analysis", "--release", "--output", str(place))
    call_command(*asked, stdout=io.StringIO())
    manifest = json.loads((place / "documentation" / "manifest.json").read_text())
    assert manifest["released"]["suppressed"]["country"] == 2
    assert len(manifest["files"]) == len(list((place / "data").iterdir())) == 5
    with pytest.raises(CommandError, match="already exists"):
        call_command(*asked, stdout=io.StringIO())
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.django_db(transaction=True)  # a worker writes its progress beside the snapshot
def test_a_worker_makes_what_the_page_offers(
    study: Study, client: Client, settings: Any, tmp_path: Path
) -> None:
    store_files_in(settings, tmp_path)
    client.force_login(make_user("ruth", study))
    page = client.get(
        reverse("lab:export", args=["memory"]), {"source": "human", "set": "all"}
    ).text
    query = "?set=all&kind=real&source=human&format=data-set"
    address = reverse("lab:export_download", args=["memory"]) + query
    assert address.replace("&", "&amp;") in page
    client.get(address)
    job = jobs.run(TrialExport.objects.get())
    made = reverse("lab:export_file", args=["memory", job.pk])
    response = client.get(address, follow=True)
    assert response.redirect_chain[-1][0] == made
    archive = zipfile.ZipFile(io.BytesIO(response.getvalue()))
    manifest = json.loads(archive.read("documentation/manifest.json"))
    assert manifest["rows"] == job.rows == 16
    execute(ask(study, "lab/two"), backend=NgramBackend())  # its scores are not in that file
    assert client.get(address)["Location"] != made


ITEM = "memory-human-2"
STORED = f"""trial,participant,item,original_side,team,method,fold,p_original,p_b,points
1,2,{ITEM},B,human + m,logistic,3,0.75,0.75,1
2,1,{ITEM},B,human + m,logistic,3,0.25,0.25,0
3,1+2,{ITEM},B,human-2 + m,logistic,1,0.5,0.5,0.5
4,,{ITEM},B,m + n,logistic,1,0.9,0.9,1
5,2,memory-machine-1,B,human + m,logistic,2,0.6,0.6,1
""".encode()


@pytest.fixture
def _teams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_set, "_stored_teams", lambda *_: [("human", STORED)])


def table(study: Study, query: TrialQuery, name: str, k: int = 0) -> pd.DataFrame:
    """A table of the data set; the manifest counts its rows."""
    file = io.BytesIO()
    manifest = export_trials(study, query, file, Form(DATA_SET, k=k))
    archive = zipfile.ZipFile(file)
    for each, n in manifest.table_rows.items():
        path = f"data/study-memory_description-{each}_data.csv"
        assert len(read_csv(archive.open(path))) == n
    assert manifest.table_rows["trials"] == manifest.rows
    assert manifest.table_rows["participants"] == manifest.participants
    assert json.loads(archive.read("documentation/manifest.json"))["table_rows"]["trials"] > 0
    return read_csv(archive.open(f"data/study-memory_description-{name}_data.csv"))


@pytest.mark.usefixtures("_teams")
def test_teams_of_the_page_are_in_it_by_pseudonym(study: Study) -> None:
    people = [str(person.public_id) for person in study.participants.order_by("pk")]
    found = table(study, TrialQuery(), "teampredictions")
    assert len(found) == 5
    first = found.iloc[0]
    assert list(first[["team", "team_source", "method"]]) == ["human + m", "human", "logistic"]
    assert (first["participant"], first["item_key"]) == (people[1], ITEM)
    assert (first["fold"], first["p_original"], bool(first["team_correct"])) == (3, 0.75, True)
    assert found.iloc[2]["participant"] == "+".join(sorted(people))


@pytest.mark.usefixtures("_teams")
def test_no_table_of_a_release_tells_in_which_order_people_came(study: Study) -> None:
    came = [UUID(int=2), UUID(int=1)]
    for person, public_id in zip(study.participants.order_by("pk"), came, strict=True):
        Participant.objects.filter(pk=person.pk).update(public_id=public_id)
    both = [str(public_id) for public_id in sorted(came)]
    for name in ("trials", "participants", "trialsmodels", "teampredictions"):
        rows = table(study, TrialQuery(), name, k=2)
        assert set(rows.columns) >= {"participant"}
        alone = rows[rows["participant"].isin(both)]
        assert list(alone["participant"].unique()) == both, name
    assert "+".join(both) in set(rows["participant"])


def test_a_prediction_names_its_test_case_also_where_a_spreadsheet_would_run_the_name(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop_triggers("default")
    Item.objects.filter(key=ITEM).update(key="=1")
    install_triggers("default")
    stored = STORED.replace(ITEM.encode(), b"'=1")
    monkeypatch.setattr(data_set, "_stored_teams", lambda *_: [("human", stored)])
    assert list(table(study, TrialQuery(), "teampredictions")["item_key"])[:4] == ["'=1"] * 4


@pytest.mark.usefixtures("_teams")
def test_predictions_are_of_the_trials_that_the_query_means(study: Study) -> None:
    people = [str(person.public_id) for person in study.participants.order_by("pk")]
    queries: dict[TrialQuery, list[str]] = {
        TrialQuery(participants=(people[1],)): ["human + m", "m + n", "human + m"],
        TrialQuery(participants=(people[0],)): ["human + m", "m + n"],
        TrialQuery(source=("machine",)): ["human + m"],
        TrialQuery(items=(ITEM,)): ["human + m", "human + m", "human-2 + m", "m + n"],
        TrialQuery(subfields=("Systems/Circuits",)): ["human + m", "human + m", "human-2 + m", "m + n"],
    }  # fmt: skip
    Item.objects.filter(key=ITEM).update(subfield="Systems/Circuits")
    for query, teams in queries.items():
        assert list(table(study, query, "teampredictions")["team"]) == teams, query


@pytest.mark.usefixtures("_teams")
def test_a_prediction_of_a_trial_that_is_left_out_is_left_out(study: Study) -> None:
    first, second = study.participants.order_by("pk")
    one = Judgment.objects.filter(trial__participant=first, trial__item__key=ITEM)
    one.update(excluded_by="too_fast")
    found = table(study, TrialQuery("analysis"), "teampredictions")
    # Both are in the data set, and so is the test case: of the first one's trial nothing is
    assert list(found["team"]) == ["human + m", "m + n", "human + m"]
    assert set(found["participant"].dropna()) == {str(second.public_id)}


@pytest.mark.parametrize(
    "query",
    [
        TrialQuery(source=("human",)),
        TrialQuery(items=(ITEM,)),
        TrialQuery("analysis", subfields=("Systems/Circuits",)),
    ],
)
def test_scores_are_of_the_test_cases_of_these_trials(study: Study, query: TrialQuery) -> None:
    Item.objects.filter(key__in=[ITEM, "memory-machine-1"]).update(subfield="Systems/Circuits")
    scores, items = table(study, query, "itemscores"), table(study, query, "items")
    tests = items[~items["item_key"].str.contains("catch")]
    assert set(scores["item_key"]) == set(tests["item_key"]) < set(_all_scored())
    assert len(scores) == len(tests)


def _all_scored() -> set[str]:
    return set(ItemScore.objects.values_list("item__key", flat=True))


RUN = "good;=cmd|' /C calc'!A0, -1\n@SUM(1)\t\"+2\""


@pytest.mark.parametrize("asks_questions", [False, True])
def test_no_cell_of_any_table_is_a_formula_whatever_separates_cells(
    tmp_path: Path, study: Study, *, asks_questions: bool
) -> None:
    """And the texts are the exact ones that people wrote, once the guard is taken away."""
    if asks_questions:
        study = make_questions()
        write(study, [RUN, RUN])
    else:
        [why] = make_survey(study, "text", name="why", text=f"Why? {RUN}")
        person = make_participant(study, comments=RUN, demographics={"position": f"x;{RUN}"})
        SurveyAnswer.objects.create(
            participant=person, question=why, value=RUN, received_at=timezone.now()
        )
    texts: set[str] = set()
    for n, more in enumerate(((), ("--release", "--words") if asks_questions else ("--release",))):
        place = tmp_path / f"{n}.zip"
        asked = ("export_dataset", study.slug, "--set", "all", "--output", str(place))
        call_command(*asked, *more, stdout=io.StringIO())
        with zipfile.ZipFile(place) as archive:
            for name in archive.namelist():
                if name.endswith(".csv"):
                    texts |= _without_formulas(archive.read(name).decode())
    with (tmp_path / "who.csv").open("w+b") as file:
        export_identities(study, file, by=make_user("ruth", study), reason="Asked")
        texts |= _without_formulas(file.read().decode())
    assert RUN in texts


def _without_formulas(written: str) -> set[str]:
    """The texts of its cells."""
    for marks in MARKS:
        assert formulas(written, marks) == []
    rows = csv.reader(io.StringIO(written, newline=""))
    return {unguarded(cell) for row in rows for cell in row}
