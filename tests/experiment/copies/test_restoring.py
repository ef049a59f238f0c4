"""A backup is brought back: beside the site to see that it holds, in its place, and not over what may not go."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from psycopg.sql import SQL, Identifier

from config.env import parse_database_url
from experiment.models import Participant, Study
from experiment.services.recounting import check
from experiment.services.withdrawal import withdraw
from lib.backup import files as backup_files
from lib.backup import manifest as manifests
from lib.backup.making import opened
from lib.backup.manifest import BackupError
from lib.backup.postgres import connected, refuse_used
from lib.backup.restoring import clear, temporary_folder
from lib.jobs.workers import Presence
from tests.experiment.copies.conftest import Backup
from tests.experiment.people import finish

pytestmark = pytest.mark.both


def test_a_verified_one_leaves_nothing_behind(
    study: Study, backup: Backup, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = backup()
    there = sorted(folder.parent.iterdir())
    call_command("restore", folder, verify=True)
    assert "is identical" in capsys.readouterr().out
    assert sorted(folder.parent.iterdir()) == there
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_database WHERE datname LIKE current_database() || '%verify%'"
            )
            assert cursor.fetchone() == (0,)


def test_a_restore_keeps_later_withdrawals_and_drops_later_participants(
    study: Study, files: Path, backup: Backup, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "scoring" / "run").mkdir(parents=True)
    record = files / "scoring" / "run" / "part-0.parquet"
    record.write_bytes(b"tokens")
    staying, leaving = finish(study), finish(study)
    folder = backup()
    later = finish(study)
    assert withdraw(study, leaving.withdrawal_code, timezone.now()) is not None
    record.unlink()
    call_command("restore", folder, replace=True, json=True)
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (said["withdrawn"], said["files"]) == (1, 1)
    assert record.read_bytes() == b"tokens"
    stages = dict(Participant.objects.values_list("pk", "stage"))
    assert (stages[staying.pk], stages[leaving.pk]) == ("finished", "withdrawn")
    assert later.pk not in stages
    assert not Participant.objects.get(pk=leaving.pk).trials.exists()
    assert check([study]) == []
    assert finish(study).stage == "finished"  # it goes on


def test_a_failed_restore_leaves_database_and_records_and_brings_what_was_missing(
    study: Study, files: Path, backup: Backup, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = files / "scoring" / "run" / "p.parquet"
    lost = record.with_name("q.parquet")
    tombstone = files / "withdrawals" / "left" / "x"
    for path in (record, lost, tombstone):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"as it was")
    folder = backup()
    record.write_bytes(b"newer")
    lost.unlink()
    tombstone.unlink()
    later = finish(study)

    def fail() -> None:
        raise BackupError("cut here")

    with monkeypatch.context() as patched:
        patched.setattr("experiment.services.chores.withdraw_again", fail)
        with pytest.raises(CommandError, match="cut here"):
            call_command("restore", folder, replace=True)
    assert Participant.objects.get(pk=later.pk).stage == "finished"
    assert (record.read_bytes(), tombstone.read_bytes()) == (b"newer", b"as it was")
    assert lost.read_bytes() == b"as it was", "no row that is brought back may name a missing one"
    call_command("restore", folder, replace=True)
    assert not Participant.objects.filter(pk=later.pk).exists()
    assert record.read_bytes() == b"as it was"


def test_remains_of_a_killed_verification_are_cleared_and_a_running_one_is_kept(
    study: Study, backup: Backup
) -> None:
    folder = backup()
    if connection.vendor == "sqlite":
        left = folder.parent / "verify-left"
        left.mkdir()
        with temporary_folder(folder.parent, "verify-") as running:
            assert not left.exists()
            call_command("restore", folder, verify=True)
            assert running.exists()
        return
    values = connection.settings_dict
    left_name = f"{values['NAME']}_verify_1"
    with connected(values) as admin:
        admin.execute(SQL("CREATE DATABASE {}").format(Identifier(left_name)))

        def is_left() -> bool:
            found = admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [left_name])
            return found.fetchone() is not None

        with connected({**values, "NAME": left_name}):
            clear(admin, values["NAME"])
            assert is_left(), "somebody is connected to it"
        refuse_used({**values, "NAME": left_name})  # the server has noticed that nobody is
        call_command("restore", folder, verify=True)
        assert not is_left()


@pytest.mark.postgres
def test_a_user_who_may_create_no_database_restores_in_place(
    study: Study, backup: Backup, elsewhere: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, name = backup(), parse_database_url(elsewhere)["NAME"]
    role = Identifier(f"{name}_owner")
    with closing(psycopg.connect(elsewhere, autocommit=True)) as admin:
        admin.execute(SQL("CREATE ROLE {} LOGIN PASSWORD 'only-here'").format(role))
    try:
        with closing(psycopg.connect(elsewhere, autocommit=True)) as admin:
            admin.execute(SQL("ALTER DATABASE {} OWNER TO {}").format(Identifier(name), role))
        with pytest.raises(CommandError, match="does not exist"):
            call_command("restore", folder, into=f"{elsewhere}_nowhere")
        user, host = f"{name}_owner:only-here", elsewhere.rpartition("@")[2]
        call_command("restore", folder, into=f"postgres://{user}@{host}")
        assert "restored in place" in capsys.readouterr().err
        with opened(parse_database_url(elsewhere)):
            assert Participant.objects.count() == 2
    finally:
        with closing(psycopg.connect(elsewhere, autocommit=True)) as admin:
            admin.execute(SQL("REASSIGN OWNED BY {} TO CURRENT_USER").format(role))
            admin.execute(SQL("DROP OWNED BY {}").format(role))
            admin.execute(SQL("DROP ROLE {}").format(role))


def test_another_key_and_another_connection_are_refused_and_a_variable_names_the_database(
    study: Study, backup: Backup, elsewhere: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = backup()
    settings.WITHDRAWAL_KEY = "another" * 10
    with pytest.raises(CommandError, match="another key"):
        call_command("restore", folder, verify=True)
    with pytest.raises(CommandError, match="WITHDRAWAL_KEY"):
        call_command("restore", folder, into=elsewhere)
    with pytest.raises(CommandError, match="OTHER_DATABASE is not set"):
        call_command("restore", folder, into_env="OTHER_DATABASE", other_key=True)
    monkeypatch.setenv("OTHER_DATABASE", elsewhere)
    call_command("restore", folder, into_env="OTHER_DATABASE", other_key=True)
    other: Any
    if connection.vendor == "sqlite":
        other = sqlite3.connect(elsewhere.removeprefix("sqlite:///"))
        other.execute("PRAGMA journal_mode = WAL")  # as the site does
    else:
        other = psycopg.connect(elsewhere)
    again = {"into": elsewhere, "other_key": True, "replace": True}
    with closing(other):
        assert other.execute("SELECT count(*) FROM experiment_participant").fetchone() == (2,)
        with pytest.raises(CommandError, match="Stop the site"):
            call_command("restore", folder, **again)
    call_command("restore", folder, **again)


def test_no_database_is_replaced_unasked_under_a_worker_or_by_a_newer_release(
    study: Study, backup: Backup, elsewhere: str
) -> None:
    folder = backup()
    with pytest.raises(CommandError, match="--replace"):
        call_command("restore", folder)
    Presence().beat()
    with pytest.raises(CommandError, match="is running"):
        call_command("restore", folder, replace=True)
    change(folder, lambda said: said["database"]["migrations"].append("experiment.9999_later"))
    with pytest.raises(CommandError, match="9999_later"):
        call_command("restore", folder, into=elsewhere)
    assert Participant.objects.count() == 2


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """As somebody would who knows how a manifest is sealed: with the files' hashes as they are now."""
    said = json.loads((folder / manifests.NAME).read_text())
    said.pop("sha256")
    edit(said)
    for name in said["files"]:
        found = backup_files.read(folder / name)
        said["files"][name] = {"size": found.size, "sha256": found.sha256}
    seal = manifests._digest(said)
    (folder / manifests.NAME).write_text(json.dumps(said | {"sha256": seal}))


def rewrite(path: Path, edit: Callable[[bytes], bytes]) -> None:
    path.write_bytes(edit(path.read_bytes()))


def database_file(folder: Path) -> Path:
    return folder / manifests.read(folder).database.file


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def cut(content: bytes) -> bytes:
    return content[:-5000]


def counting_otherwise(content: bytes) -> bytes:
    return content.replace(b'"experiment_judgment": ', b'"experiment_judgment": 1')


SABOTAGE: list[tuple[Callable[[Path], object], str]] = [
    (lambda folder: rewrite(database_file(folder), flipped), "SHA-256"),
    (lambda folder: rewrite(database_file(folder), cut), "bytes"),
    # And sealed again
    (
        lambda folder: change(folder, lambda _: rewrite(database_file(folder), cut)),
        "intact|failed|incomplete",
    ),
    (lambda folder: next((folder / "files").rglob("*.parquet")).unlink(), "missing"),
    (lambda folder: rewrite(folder / manifests.NAME, counting_otherwise), "changed"),
    (
        lambda folder: rewrite(folder / manifests.NAME, lambda said: said[:300]),
        "truncated or changed",
    ),
    (
        lambda folder: change(
            folder, lambda said: said["database"]["rows"].update(experiment_judgment=1)
        ),
        "rows of experiment_judgment",
    ),
    (
        lambda folder: change(folder, lambda said: said["database"].update(file="../../key")),
        "outside",
    ),
]


def test_a_spoilt_backup_fails_with_what_is_wrong_and_replaces_nothing(
    study: Study, files: Path, backup: Backup, elsewhere: str, tmp_path: Path
) -> None:
    (files / "scoring" / "run").mkdir(parents=True)
    (files / "scoring" / "run" / "part-0.parquet").write_bytes(b"tokens")
    folder = backup()
    for n, (spoil, words) in enumerate(SABOTAGE):
        spoilt = shutil.copytree(folder, tmp_path / f"spoilt-{n}" / folder.name)
        spoil(spoilt)
        for where in ({"verify": True}, {"into": elsewhere}):
            with pytest.raises(CommandError, match=words):
                call_command("restore", spoilt, **where)
    with opened(parse_database_url(elsewhere)):
        assert "experiment_judgment" not in connection.introspection.table_names()


# What rows say of each other; of PostgreSQL's dumps only who can write PostgreSQL's form changes a row
IN_ROWS = {
    "UPDATE experiment_itemcount SET judged = judged + 1": "counters",
    "UPDATE experiment_auditevent SET reason = 'another' WHERE id = (SELECT max(id) FROM experiment_auditevent)": "audit trail",
    "DELETE FROM experiment_trial WHERE id = (SELECT min(id) FROM experiment_trial)": "refers to a missing row",
}


@pytest.mark.sqlite
def test_a_copy_whose_rows_were_changed_fails_although_every_hash_is_right(
    study: Study, backup: Backup, tmp_path: Path
) -> None:
    folder = backup()
    for n, (statement, words) in enumerate(IN_ROWS.items()):
        spoilt = shutil.copytree(folder, tmp_path / f"spoilt-{n}" / folder.name)
        with sqlite3.connect(spoilt / "database.sqlite3", isolation_level=None) as copy:
            for (trigger,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
                copy.execute(f"DROP TRIGGER {trigger}")
            copy.execute(statement)
        change(spoilt, lambda _: None)
        with pytest.raises(CommandError, match=words):
            call_command("restore", spoilt, verify=True)


@pytest.mark.drifts
def test_counters_that_were_wrong_in_the_site_are_said_and_fail_the_copy(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE experiment_itemcount SET judged = judged + 1")
    call_command("backup", output=tmp_path / "backups")
    assert "counters" in capsys.readouterr().out
    [folder] = (tmp_path / "backups").glob("brainbench-*")
    with pytest.raises(CommandError, match="counters"):
        call_command("restore", folder, verify=True)
