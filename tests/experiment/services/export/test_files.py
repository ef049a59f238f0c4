"""Tests of files.py, of the rows in them and of the command that calls it."""

import csv
import hashlib
import io
import json
import os
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections

from experiment.domain.trial_query import TrialQuery
from experiment.models import Study
from experiment.services.export import files
from experiment.services.export import trials as trial_rows
from experiment.services.export.values import HEADER, rows_of
from experiment.services.study_setup import pin_items
from lib.locks import snapshot
from tests.experiment.lab_client import run
from tests.experiment.services.export.command import export
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("there", "asked", "said"),
    [
        (("simulated",), ("--kind", "real"), r"no real participants.* 1 simulated"),
        (("simulated",), ("--kind", "imported"), r"no imported participants.* 1 simulated"),
        (("simulated", "pilot"), (), r"no real participants.* 1 pilot, 1 simulated"),
    ],
)
def test_no_kind_stands_in_for_one_that_was_asked_for_and_none_is_chosen_of_several(
    study: Study, path: Path, there: tuple[str, ...], asked: tuple[str, ...], said: str
) -> None:
    for kind in there:
        make_participant(study, kind=kind)
    with pytest.raises(CommandError, match=said):
        call_command("export_trials", study.slug, "--set", "all", "--output", str(path), *asked)
    assert not path.exists()


@pytest.mark.parametrize("has_own", [True, False])
def test_published_people_who_join_a_study_are_exported_with_their_own(
    study: Study, path: Path, has_own: bool
) -> None:
    make_participant(study, kind="imported")
    other = make_study("other")
    pin_items(other, study.items.all())
    if has_own:
        make_participant(other)
    with pytest.raises(CommandError, match=rf"published elsewhere.* exported with {study.slug}\."):
        export(other, "--kind", "imported", path=path)
    assert not path.exists()
    assert len(export(study, "--kind", "imported", path=path)) == 11


def test_the_only_kind_is_taken_named_and_warned_of_whatever_the_file_is_called(
    study: Study, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_participant(study, kind="simulated")
    said = run("export_trials", "memory", "--set", "all", "--output", str(path))
    assert "11 trials of 1 simulated participants" in said
    assert "no person took part" in capsys.readouterr().err
    assert json.loads(files.manifest_path(path).read_text())["kind"] == "simulated"
    assert {row["kind"] for row in export(study, path=path)} == {"simulated"}
    make_participant(study)
    assert {row["kind"] for row in export(study, path=path)} == {"real"}
    assert {row["kind"] for row in export(study, "--kind", "simulated", path=path)} == {"simulated"}


def test_json_names_the_file_and_its_hash(study: Study, path: Path) -> None:
    make_participant(study)
    asked = ("--set", "analysis", "--output", str(path), "--json")
    said = json.loads(run("export_trials", study.slug, *asked))
    beside = path.with_name("trials.csv.manifest.json")
    assert said == json.loads(beside.read_text()) | {"file": str(path), "manifest": str(beside)}
    expected = {
        "study": "memory",
        "kind": "real",
        "set": "analysis",
        "query": {"set": "analysis", "kind": "real"},
        "format": "csv",
        "rules_version": None,
        "rows": 9,
        "participants": 1,
        "items": 9,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    assert {name: said[name] for name in expected} == expected


def test_formulas_in_what_participants_send_are_defused(study: Study, path: Path) -> None:
    answers = {"gender": "=cmd|'/c calc'!A1", "position": ' \t=HYPERLINK("x")\nand "more", too'}
    make_participant(study, demographics=answers)
    row = export(study, path=path)[0]
    assert row["gender"] == "'=cmd|'/c calc'!A1"
    assert row["position_held"] == ' \t\'=HYPERLINK("x")\nand "more", too'


def test_a_failed_export_leaves_the_file_as_it_was(
    study: Study, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_participant(study)
    path.write_text("yesterday's export")
    blocks = files.trials

    def failing(*arguments, **named):
        yield from blocks(*arguments, **named)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "trials", failing)
    with pytest.raises(CommandError, match="No space left"):
        export(study, path=path)
    assert path.read_text() == "yesterday's export"
    assert os.listdir(path.parent) == ["trials.csv"]  # and no manifest


def test_standard_output_gets_the_rows_and_nothing_else(
    study: Study, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    make_participant(study, demographics={"position": "naïve"})
    call_command("export_trials", study.slug, "--set", "all", "--output", "-")
    captured = capsysbinary.readouterr()
    rows = list(csv.DictReader(io.StringIO(captured.out.decode())))
    assert len(rows) == 11
    assert rows[0]["position_held"] == "naïve"
    assert b"11 trials" in captured.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere", "--output", "x.csv"), "There is no study “nowhere”."),
        (("memory", "--output", "-", "--json"), "Name a file"),
        (("memory", "--output", "."), "not a regular file"),
        (("memory", "--output", "no/such/folder/x.csv"), "No such file or directory"),
    ],
)
def test_impossible_exports_are_refused_in_a_sentence(
    study: Study, arguments: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(CommandError, match=sentence):
        call_command("export_trials", "--set", "all", *arguments)


@pytest.mark.parametrize("rows_in_a_block", [1, 4, 11])
def test_participants_are_counted_once(
    study: Study, rows_in_a_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_rows, "ROWS", rows_in_a_block)
    make_participant(study)
    make_participant(study, judged=0)
    make_participant(study, judged=3)
    made = files.export_trials(study, TrialQuery("all", "real"), io.BytesIO())
    assert (made.rows, made.participants) == (14, 2)


def test_the_number_of_queries_does_not_grow_with_the_rows(
    study: Study, django_assert_num_queries
) -> None:
    for _ in range(2):
        for _ in range(3):
            make_participant(study)
        expected = 11 * study.participants.count()
        with django_assert_num_queries(5):  # questions? arms? trials, participants, items
            assert len(cells_of(study, "text")) == expected


def cells_of(study: Study, *columns: str) -> list[tuple[str, ...]]:
    """These columns of all trials, read as an export does."""
    places = [HEADER.index(name) for name in columns]
    blocks = trial_rows.trials(study, TrialQuery("all", "real"))
    return [tuple(row[place] for place in places) for block in blocks for row in rows_of(block)]


@pytest.mark.drifts  # writes judgments itself
@pytest.mark.django_db(transaction=True)
def test_an_export_is_of_one_moment(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes by others while rows are being read are not in the file: neither new rows nor new values."""
    for _ in range(3):
        make_participant(study)
    monkeypatch.setattr(trial_rows, "ROWS", 7)
    names = ("policy", "trial_excluded_by", "item_key")
    before = cells_of(study, *names)
    seen = []
    other = connection.copy()
    with snapshot():
        for block in trial_rows.trials(study, TrialQuery("all", "real")):
            if not seen:
                with other.cursor() as cursor:
                    cursor.execute("UPDATE experiment_participant SET policy = 'paper'")
                    cursor.execute("UPDATE experiment_judgment SET excluded_by = 'too_fast'")
                    cursor.execute("UPDATE experiment_item SET generator = 'Eve'")
            seen += [tuple(row[HEADER.index(name)] for name in names) for row in rows_of(block)]
        # What is read a second time is of the same moment
        again = cells_of(study, *names)
    other.close()
    assert len(seen) == 33
    assert seen == again == before
    assert cells_of(study, "policy") == [("paper",)] * 33
    assert connections["default"].in_atomic_block is False
