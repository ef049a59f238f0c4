"""The whole data set: people's tables and models' join, and each file follows the rules that the others do."""

import io
import json
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from analysis.data_set import tables
from experiment.domain.trial_query import TrialQuery
from experiment.models import AuditEvent, Study
from experiment.services.export.select import completed
from scoring.services.execute import execute
from tests.experiment.services.export.test_psych_ds import problems
from tests.factories import make_participant, make_study, make_user
from tests.scoring.lab.rows import ask
from tests.scoring.ngram_backend import NgramBackend

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
    trials, _, items, scores, joined = (pd.read_csv(archive.open(files[n])) for n in names)
    key = ["item_key", "item_version"]
    assert len(joined) == len(trials) == 22
    assert set(scores["model"]) == {"lab/one"}
    assert ((scores["ppl_altered"] - scores["ppl_original"]) == scores["difficulty"]).all()
    beside = joined.merge(scores, on=key, how="left")
    assert len(beside) == len(joined)
    pd.testing.assert_series_equal(
        beside["difficulty"], joined["difficulty__lab/one"], check_names=False
    )
    tests = joined["item_key"].str.contains("catch")
    assert joined.loc[~tests, "model_correct__lab/one"].notna().all()
    assert set(items["item_key"]) == set(trials["item_key"])
    assert AuditEvent.objects.filter(action="exported").count() == 1


def test_a_folder_appears_whole_and_is_never_written_over(study: Study, tmp_path: Path) -> None:
    place = tmp_path / "folder"
    asked = ("export_dataset", "memory", "--set", "analysis", "--release", "--output", str(place))
    call_command(*asked, stdout=io.StringIO())
    manifest = json.loads((place / "documentation" / "manifest.json").read_text())
    assert manifest["released"]["suppressed"]["country"] == 2
    assert len(manifest["files"]) == len(list((place / "data").iterdir())) == 5
    with pytest.raises(CommandError, match="is there already"):
        call_command(*asked, stdout=io.StringIO())
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_the_page_offers_the_same_tables(study: Study, client: Client) -> None:
    client.force_login(make_user("ruth", study))
    page = client.get(reverse("lab:export", args=["memory"]), {"source": "human"}).content.decode()
    address = reverse("lab:export_data_set", args=["memory"])
    assert f"{address}?set=all&amp;kind=real&amp;source=human" in page
    content = client.get(address, {"source": "human", "format": "parquet"}).getvalue()
    archive = zipfile.ZipFile(io.BytesIO(content))
    manifest = json.loads(archive.read("documentation/manifest.json"))
    assert (manifest["rows"], len(manifest["files"])) == (16, 5)


def test_teams_of_the_page_are_in_it_by_pseudonym(study: Study) -> None:
    people = [str(person.public_id) for person in study.participants.order_by("pk")]
    stored = (
        b"trial,participant,item,original_side,team,method,fold,p_original,p_b,is_right\n"
        b"1,2,memory-human-1,B,human + m,logistic,3,0.75,0.75,1\n"
    )
    query = completed(study, TrialQuery())
    ((*fitted, who, item, p, is_right),) = tables._predictions(study, query, [("human", stored)])
    assert fitted == ["human + m", "human", "logistic", 3]
    assert (who, item, p, is_right) == (people[1], "memory-human-1", 0.75, True)
