"""A backup: what is in it, who may read it, and what is left where it could not be finished."""

import fcntl
import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.core.management import CommandError, call_command

from experiment.models import Participant, Study
from lib.backup import manifest as manifests
from lib.backup import postgres
from lib.backup.manifest import BackupError
from lib.backup.postgres import environment, program
from scoring.models import ModelServer
from scoring.services import servers
from tests.experiment.copies.conftest import Backup
from tests.experiment.http_client import at_once, run_until_killed
from tests.experiment.people import start
from tests.storages import store_files_in

pytestmark = pytest.mark.both
SERVER_KEY = "sk-marked-0123456789abcdef"

KILLED_BEFORE_ITS_MANIFEST = """
import os, sys, django
django.setup()
from django.core.management import call_command
from lib.backup import making
making.check = lambda *_: os.kill(os.getpid(), 9)
call_command("backup", output=making.Path(sys.argv[1]))
"""


def test_it_holds_rows_and_files_for_their_owner_alone_and_no_key(
    study: Study, files: Path, backup: Backup
) -> None:
    (files / "scoring" / "run").mkdir(parents=True)
    (files / "scoring" / "run" / "part-0.parquet").write_bytes(b"tokens")
    server = ModelServer(name="Provider", kind="chat", address="https://api.example.org")
    servers.save(server, None, key=SERVER_KEY)
    folder = backup()
    manifest = manifests.read(folder)
    assert manifest.database.rows["experiment_participant"] == Participant.objects.count() == 2
    assert manifest.database.rows["experiment_judgment"] == study.n_trials
    assert {"files/token_records/run/part-0.parquet"} < set(manifest.files)
    found = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in found} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    keys = [site_settings.WITHDRAWAL_KEY.encode(), site_settings.SECRET_KEY.encode()]
    keys.append(SERVER_KEY.encode())
    assert not [path for path in found for key in keys if key in path.read_bytes()]


def test_keys_come_with_it_where_they_were_asked_for_and_are_not_printed(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("backup", output=tmp_path / "backups", json=True, with_keys=True)
    printed = capsys.readouterr()
    folder = Path(json.loads(printed.out)["backup"])
    assert (folder / "keys" / "withdrawal_key").read_text() == site_settings.WITHDRAWAL_KEY
    assert site_settings.WITHDRAWAL_KEY not in printed.out + printed.err


@pytest.mark.postgres
def test_a_backup_contains_nothing_written_while_it_is_made(
    study: Study, backup: Backup, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = postgres.dump

    def amid_others(*asked: Any) -> Any:
        at_once([lambda: start(study)])
        made = dump(*asked)
        at_once([lambda: start(study)])
        return made

    monkeypatch.setattr(postgres, "dump", amid_others)
    folder = backup()
    assert Participant.objects.count() == 4
    assert manifests.read(folder).database.rows["experiment_participant"] == 2
    call_command("restore", folder, verify=True)


def test_older_ones_go_and_whatever_is_no_backup_stays(
    study: Study, backup: Backup, tmp_path: Path
) -> None:
    first, second = backup(), backup()
    (tmp_path / "backups" / "brainbench-notes").mkdir()
    third = backup(keep=2)
    left = {path.name for path in (tmp_path / "backups").glob("brainbench-*")}
    assert left == {second.name, third.name, "brainbench-notes"}
    assert not first.exists()


def test_two_are_not_made_in_one_folder_at_once(study: Study, backup: Backup) -> None:
    output = backup().parent
    with (output / ".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(CommandError, match="Another backup"):
            backup()


@contextmanager
def files_of_at_most(n_bytes: int) -> Iterator[None]:
    """As on a disk that is full: the system refuses what a file would have beyond that."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_nothing_and_keeps_the_older_ones(
    study: Study, backup: Backup, tmp_path: Path
) -> None:
    older = backup()
    with files_of_at_most(20_000), pytest.raises(CommandError, match="cannot be used"):
        backup(keep=1)
    assert [path.name for path in (tmp_path / "backups").glob("brainbench-*")] == [older.name]


def test_a_kill_leaves_no_backup_and_the_next_one_clears_up(
    study: Study, backup: Backup, tmp_path: Path
) -> None:
    output = tmp_path / "backups"
    run_until_killed(KILLED_BEFORE_ITS_MANIFEST, output, VAR_DIR=str(tmp_path))
    [left] = output.glob("brainbench-*")
    with pytest.raises(CommandError, match="is not a backup"):
        call_command("restore", left, verify=True)
    made = backup()
    assert [made] == list(output.glob("brainbench-*"))


def test_files_of_a_bucket_come_with_it_and_go_back(
    study: Study, settings: Any, bucket: Any, backup: Backup
) -> None:
    store_files_in(settings, "s3://records/lab")
    bucket.put_object(Key="lab/scoring/run/part-0.parquet", Body=b"tokens")
    folder = backup()
    assert (folder / "files/token_records/run/part-0.parquet").read_bytes() == b"tokens"
    bucket.Object("lab/scoring/run/part-0.parquet").put(Body=b"others")
    call_command("restore", folder, replace=True)
    kept = bucket.Object("lab/scoring/run/part-0.parquet").get()["Body"].read()
    assert kept == b"tokens"


def test_programs_older_than_the_server_are_refused() -> None:
    with pytest.raises(BackupError, match="Install PostgreSQL's client programs"):
        program("pg_dump", 99)
    with pytest.raises(BackupError, match="is not installed"):
        program("pg_dump_of_nobody", 14)


def test_programs_are_told_by_variables_where_the_database_is() -> None:
    login = {"NAME": "lab", "USER": "me", "PASSWORD": "a secret", "HOST": "db", "PORT": "5433"}
    said = environment({**login, "OPTIONS": {"sslmode": "require", "prepare_threshold": 0}})
    names = ("PGDATABASE", "PGUSER", "PGPASSWORD", "PGHOST", "PGPORT", "PGSSLMODE")
    assert [said[name] for name in names] == ["lab", "me", "a secret", "db", "5433", "require"]
