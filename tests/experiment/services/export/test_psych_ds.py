"""A data set in several files: it follows the published rules of Psych-DS, and its tables join."""

import hashlib
import io
import json
import re
import zipfile
from collections import Counter

import pandas as pd
import pytest

from experiment.domain.export_columns import TRIAL_COLUMNS
from experiment.domain.release import DROPPED, PSYCH_DS, QUASI_IDENTIFIERS, Form
from experiment.domain.trial_query import TrialQuery
from experiment.models import Study
from experiment.services.export.files import export_trials
from experiment.services.export.release import first_released
from tests.exported import read_csv
from tests.factories import make_participant, make_study, recruited

pytestmark = pytest.mark.django_db
# What the rules say of a data file's path
DATA_FILE = re.compile(r"data/([^/]+/)*([a-z]+-[a-zA-Z0-9]+)(_[a-z]+-[a-zA-Z0-9]+)*_data\.csv")
KEYWORDS = {
    *("study", "site", "subject", "session", "task"),
    *("condition", "trial", "stimulus", "description"),
}
# schema.org's properties of the two types that are used, as far as we use them
DATASET = {
    *("@context", "@type", "name", "description", "schemaVersion"),
    *("inLanguage", "dateCreated", "version", "keywords", "variableMeasured"),
}
PROPERTY_VALUE = {"@type", "name", "description", "unitText"}


@pytest.fixture
def study() -> Study:
    study = make_study("mem-1_b")
    for n in range(6):
        make_participant(study, demographics={"country": "GB", "age": 30 + n % 2, "gender": "x"})
    recruited(make_participant(study, demographics={"country": "FR", "age": 81}), "5f3a-secret")
    make_participant(study, judged=2)
    return study


def data_set(study: Study, k: int = 0) -> zipfile.ZipFile:
    file = io.BytesIO()
    export_trials(study, TrialQuery(), file, Form(PSYCH_DS, k=k))
    return zipfile.ZipFile(file)


def table(archive: zipfile.ZipFile, name: str) -> pd.DataFrame:
    return read_csv(archive.open(f"data/study-mem1b_description-{name}_data.csv"))


def problems(archive: zipfile.ZipFile) -> list[str]:
    """The breaches of the rules at psychds-docs.readthedocs.io, "Rules and conventions"."""
    found = []
    names = archive.namelist()
    files = [name for name in names if name.startswith("data/")]
    found += [f"misnamed: {name}" for name in files if not DATA_FILE.fullmatch(name)]
    for name in files:
        keys = {part.split("-")[0] for part in name.rpartition("/")[2].split("_")[:-1]}
        found += [f"unofficial keyword: {key}" for key in keys - KEYWORDS]
    found += [] if files else ["no data file"]
    about = json.loads(archive.read("dataset_description.json").decode("utf-8"))
    found += [
        f"no {name}" for name in ("name", "description", "variableMeasured") if not about.get(name)
    ]
    if about["@context"] not in ("https://schema.org", "http://schema.org/"):
        found.append("another namespace")
    if about["@type"] != "Dataset":
        found.append("no Dataset")
    found += [f"not of schema.org: {name}" for name in about.keys() - DATASET]
    variables = about["variableMeasured"]
    for variable in variables:
        found += [f"not of schema.org: {name}" for name in variable.keys() - PROPERTY_VALUE]
        found += [] if variable["@type"] == "PropertyValue" else ["no PropertyValue"]
    known = Counter(variable["name"] for variable in variables)
    found += [f"described twice: {name}" for name, n in known.items() if n > 1]
    for name in files:
        lines = list(read_csv(archive.open(name), header=None, dtype=str, chunksize=100))
        header = [str(cell) for cell in lines[0].iloc[0]]
        found += [f"{name}: {column} is not described" for column in header if column not in known]
        if len(set(header)) != len(header):
            found.append(f"{name}: columns of one name")
    return found


@pytest.mark.parametrize("k", [0, 5])
def test_it_follows_the_published_rules(study: Study, k: int) -> None:
    archive = data_set(study, k)
    assert problems(archive) == []
    assert {"README.md", "CHANGES.md", "documentation/manifest.json"} <= set(archive.namelist())
    assert "test cases were not reviewed" in archive.read("README.md").decode()


def test_its_tables_join(study: Study) -> None:
    archive = data_set(study)
    trials, people, items = (table(archive, name) for name in ("trials", "participants", "items"))
    assert (len(trials), len(people)) == (7 * 11 + 2, 8)
    assert people["participant"].is_unique
    assert set(people["participant"]) == set(trials["participant"])
    key = ["item_key", "item_version"]
    assert not items.duplicated(key).any()
    joined = trials.merge(people, on="participant", suffixes=("", "_of_person"))
    joined = joined.merge(items, on=key, suffixes=("", "_of_item"))
    assert len(joined) == len(trials)
    assert (joined["text"] == joined["text_of_item"]).all()


def test_the_manifest_names_each_files_hash_and_what_was_asked(study: Study) -> None:
    archive = data_set(study)
    manifest = json.loads(archive.read("documentation/manifest.json"))
    assert manifest["query"] == {"set": "all", "kind": "real"}
    assert (manifest["rows"], manifest["participants"]) == (79, 8)
    hashes = {name: hashlib.sha256(archive.read(name)).hexdigest() for name in manifest["files"]}
    assert manifest["files"] == hashes
    assert len(hashes) == 3
    assert manifest["sha256"] in hashes.values()


def test_no_recruitment_id_is_in_it(study: Study) -> None:
    archive = data_set(study)
    assert not [name for name in archive.namelist() if b"5f3a-secret" in archive.read(name)]


@pytest.mark.parametrize("format_name", [PSYCH_DS, "csv"])
def test_a_release_says_of_nobody_what_fewer_than_k_share(study: Study, format_name: str) -> None:
    if format_name == PSYCH_DS:
        archive = data_set(study, k=5)
        tables = [table(archive, "trials"), table(archive, "participants")]
        manifest = json.loads(archive.read("documentation/manifest.json"))
        assert b"Left out for the release" in archive.read("README.md")
    else:
        file = io.BytesIO()
        manifest = export_trials(study, TrialQuery(), file, Form(k=5)).as_dict()
        tables = [read_csv(file)]
    for rows in tables:
        assert not set(DROPPED) & set(rows.columns)
        people = rows.drop_duplicates("participant")[list(QUASI_IDENTIFIERS)].fillna("none")
        assert people.value_counts().min() >= 5 or len(people) < 5
    assert manifest["released"]["k"] == 5
    known = {column.name for column in TRIAL_COLUMNS}
    assert manifest["released"]["dropped"] == [name for name in DROPPED if name in known]
    assert manifest["released"]["suppressed"]["country"] == 8  # one of six stood out, and so all do


def test_a_release_does_not_tell_in_which_order_people_came(study: Study) -> None:
    came = [str(person.public_id) for person in study.participants.order_by("pk")]
    for k, order in ((0, came), (5, sorted(came))):
        archive = data_set(study, k)
        rows = table(archive, "trials")
        assert list(rows["participant"].unique()) == order
        assert (rows.groupby("participant")["position"].diff().dropna() == 1).all()
        assert list(table(archive, "participants")["participant"]) == order
        # Nor do test cases, which are told as the trials give them
        given = rows[["item_key", "item_version"]].drop_duplicates()
        assert list(table(archive, "items")["item_key"]) == list(given["item_key"])
    # Two rows, since one of these people has no more trials
    shown, _about = first_released(study, TrialQuery(kind="real"), Form(k=5), 2)
    assert [row["participant"] for row in shown] == [sorted(came)[0]] * 2


def test_a_zip_holds_the_file_its_manifest_and_the_codebook(study: Study) -> None:
    file = io.BytesIO()
    manifest = export_trials(study, TrialQuery(), file, Form("parquet", zip=True))
    archive = zipfile.ZipFile(file)
    assert sorted(archive.namelist()) == ["codebook.md", "manifest.json", "trials.parquet"]
    content = archive.read("trials.parquet")
    assert json.loads(archive.read("manifest.json")) == manifest.as_dict()
    assert manifest.sha256 == hashlib.sha256(content).hexdigest()
    assert len(pd.read_parquet(io.BytesIO(content))) == manifest.rows == 79
