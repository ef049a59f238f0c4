"""An earlier release's database, backed up as it is, is whole once this release has restored it."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command

from benchmarks.trust.upgrading import make_earlier, problems
from config.env import parse_database_url
from lib.backup import manifest as manifests
from lib.backup.opened import opened
from tests.experiment.copies.conftest import Backup

N_PEOPLE = 6


def test_an_older_backup_is_migrated_with_all_that_it_holds(
    backup: Backup, elsewhere: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(parse_database_url(elsewhere)):
        drawn = make_earlier(N_PEOPLE)
        folder = backup()
    rows = manifests.read(folder).database.rows
    assert rows["experiment_trial"] == len(drawn)
    call_command("restore", folder, into=elsewhere, replace=True, json=True)
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert "experiment.0010_counters" in said["migrated"]
    assert said["holds"]
    with opened(parse_database_url(elsewhere)):
        assert list(problems(N_PEOPLE, drawn)) == []
