"""A PostgreSQL database, by PostgreSQL's own programs: pg_dump's custom form, and back in one transaction."""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import psycopg
from django.db import connection
from psycopg.pq import Conninfo

from lib.backup import files
from lib.backup.manifest import BackupError, StoredFile

FILE = "database.dump"
Rows = Mapping[str, int]
ENDS_WITH = "-- PostgreSQL database dump complete"
# Newer programs write it, older servers do not know it
UNKNOWN_SETTING = re.compile(rb"SET transaction_timeout = 0;\s*")
HEADER_LINES = 40
LINGERS_S = 5  # a connection that was closed a moment ago is listed still
# All that is in the schema goes, in the transaction that brings the backup
EMPTY = """
DO $$ DECLARE each record; BEGIN
  FOR each IN SELECT format('DROP %s IF EXISTS %I.%I CASCADE',
      CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END,
      current_schema(), relname) AS command
    FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
  LOOP EXECUTE each.command; END LOOP;
  FOR each IN SELECT format('DROP FUNCTION IF EXISTS %s CASCADE', oid::regprocedure) AS command FROM pg_proc
    WHERE pronamespace = current_schema()::regnamespace AND proowner = current_user::regrole
  LOOP EXECUTE each.command; END LOOP;
END $$;
"""

# Before anything is committed: a dump that is whole, and of other rows than were counted, changes nothing
COUNTED = """
DO $$ DECLARE each record; n text; BEGIN
  FOR each IN SELECT * FROM jsonb_each_text(current_setting('backup.rows')::jsonb) LOOP
    EXECUTE format('SELECT count(*) FROM %I.%I', current_setting('backup.schema'), each.key) INTO n;
    IF n <> each.value THEN
      RAISE EXCEPTION 'rows of %: %, where % is expected', each.key, n, each.value;
    END IF;
  END LOOP;
END $$;
"""


def server_version() -> int:
    connection.ensure_connection()
    return int(connection.connection.info.server_version) // 10_000


def export_snapshot() -> str:
    """A name under which pg_dump sees what this transaction sees."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        cursor.execute("SELECT pg_export_snapshot()")
        return str(cursor.fetchone()[0])


def size() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


def dump(snapshot: str, target: Path, announce: Callable[[int], object]) -> StoredFile:
    command = [program("pg_dump", server_version()), "--format=custom", f"--snapshot={snapshot}"]

    def output(pipe: IO[bytes]) -> Iterator[bytes]:
        done = 0
        while chunk := pipe.read(files.CHUNK):
            yield chunk
            done += len(chunk)
            announce(done)

    with running([*command, "--no-password"], connection.settings_dict) as pipe:
        return files.write(target, output(pipe))


def check(dump_file: Path, server: int) -> None:
    """BackupError where the dump cannot be read to its end."""
    with script(dump_file, server) as sql:
        last = b""
        while chunk := sql.read(files.CHUNK):
            last = (last + chunk)[-1000:]
    if ENDS_WITH.encode() not in last:
        raise BackupError(f"{dump_file} is incomplete.")


def restore(dump_file: Path, values: Mapping[str, Any], server: int, rows: Rows) -> None:
    """Have in that database what is in the dump and nothing else, or all that was there before."""
    command = [program("psql", server), "--no-psqlrc", "--quiet", "--no-password", "--file=-"]
    command += ["--single-transaction", "--set=ON_ERROR_STOP=1", "--output=/dev/null"]
    said = json.dumps(dict(rows)).replace("'", "''")
    settings = {"schema": "current_schema()", "rows": f"'{said}'"}
    kept = [f"SELECT set_config('backup.{name}', {value}, false);\n" for name, value in settings.items()]  # fmt: skip
    is_cut = False
    with script(dump_file, server) as sql:
        try:
            with running(command, values, reads=True) as psql:
                psql.write("".join(["SET client_min_messages = error;\n", *kept, EMPTY]).encode())
                for _ in range(HEADER_LINES):
                    line = sql.readline()
                    if server >= 17 or not UNKNOWN_SETTING.fullmatch(line):
                        psql.write(line)
                last = b""
                while chunk := sql.read(files.CHUNK):
                    psql.write(chunk)
                    last = (last + chunk)[-1000:]
                is_cut = ENDS_WITH.encode() not in last
                if is_cut:
                    # Without its end psql would still commit: an error makes it roll all back
                    psql.write(b"\nDO $$ BEGIN RAISE EXCEPTION 'the dump has no end'; END $$;\n")
                psql.write(COUNTED.encode())
        except BackupError:
            # Where the dump cannot be read, what reads it says why, as this block ends
            if not is_cut:
                raise
    if is_cut:
        raise BackupError(f"{dump_file} is incomplete.")


def table_count(values: Mapping[str, Any]) -> int:
    asked = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"
    return int(_ask(values, asked))


def refuse_used(values: Mapping[str, Any]) -> None:
    """BackupError while anybody else is connected to the database."""
    asked = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND usename IS NOT NULL AND pid <> pg_backend_pid()"
    )
    until = time.monotonic() + LINGERS_S
    while (n := int(_ask(values, asked))) and time.monotonic() < until:
        time.sleep(0.05)
    if n:
        raise BackupError(
            f"The database {values['NAME']} has {n} other connections. Stop the site and its workers first."
        )


def analyze(values: Mapping[str, Any]) -> None:
    """Collects the planner's statistics, which are no part of a dump."""
    with connected(values) as asked:
        asked.execute("ANALYZE")


def _ask(values: Mapping[str, Any], query: str) -> Any:
    with connected(values) as asked:
        row = asked.execute(query.encode()).fetchone()
        assert row is not None
        return row[0]


def connected(values: Mapping[str, Any]) -> "psycopg.Connection[Any]":
    options = {key: value for key, value in values["OPTIONS"].items() if key != "prepare_threshold"}
    named = {"dbname": values["NAME"], "user": values["USER"], "password": values["PASSWORD"]}
    named |= {"host": values["HOST"], "port": values["PORT"]}
    given = {key: value for key, value in named.items() if value}
    return psycopg.connect(**(given | options), autocommit=True)


@contextmanager
def script(dump_file: Path, server: int) -> Iterator[IO[bytes]]:
    """The dump as SQL; an error where it cannot be read to its end."""
    command = [program("pg_restore", server), "--no-owner", "--no-privileges", "--file=-"]
    with running([*command, str(dump_file)]) as output:
        yield output


DEBIAN = Path("/usr/lib/postgresql")  # a folder for each version that is installed


def environment(values: Mapping[str, Any]) -> dict[str, str]:
    """How libpq's programs find the database that Django's settings name."""
    named = {"dbname": values["NAME"], "user": values["USER"], "password": values["PASSWORD"]}
    named |= {"host": values["HOST"], "port": values["PORT"]} | dict(values["OPTIONS"])
    named["options"] = ""  # a page's limits of time are none of theirs
    variables = {
        option.keyword.decode(): option.envvar.decode()
        for option in Conninfo.get_defaults()
        if option.envvar
    }
    said = {
        variables[key]: str(value) for key, value in named.items() if key in variables and value
    }
    return {**os.environ, "PGOPTIONS": "", **said}


def program(name: str, server: int) -> str:
    """The path of a program that is not older than the server's major version; the same version before newer ones."""
    folders = [Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep)]
    paths = [folder / name for folder in (*folders, *sorted(DEBIAN.glob("*/bin")))]
    versions = {path: _version(path) for path in paths if os.access(path, os.X_OK)}
    usable = [(version, n) for n, version in enumerate(versions.values()) if version >= server]
    if usable:
        return str(list(versions)[min(usable)[1]])
    if not versions:
        raise BackupError(f"{name} is not installed. Install PostgreSQL's client programs.")
    raise BackupError(
        f"{name} has version {max(versions.values())}, but the server has version {server}. Install PostgreSQL's client "
        f"programs of version {server} or newer."
    )


def _version(path: Path) -> int:
    asked = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"\) (\d+)", asked.stdout)
    return int(found[1]) if found else 0


@contextmanager
def running(
    command: list[str], values: Mapping[str, Any] | None = None, *, reads: bool = False
) -> Iterator[IO[bytes]]:
    """The output of a program, or its input if it `reads`; BackupError with what it said where it fails."""
    variables = dict(os.environ) if values is None else environment(values)
    stdin = subprocess.PIPE if reads else subprocess.DEVNULL
    stdout = subprocess.DEVNULL if reads else subprocess.PIPE
    with TemporaryFile() as said:
        process = subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=said, env=variables)
        pipe = process.stdin if reads else process.stdout
        assert pipe is not None
        try:
            try:
                yield pipe
                pipe.close()
            except BrokenPipeError:
                if not reads:
                    raise
            if process.wait() != 0:
                raise BackupError(_sentence(command, process.returncode, said))
        finally:
            process.kill()
            process.wait()
            with suppress(BrokenPipeError):
                pipe.close()


def _sentence(command: list[str], status: int, said: IO[bytes]) -> str:
    """The first error that it named, on one line."""
    said.seek(0)
    lines = said.read().decode(errors="replace").splitlines()
    errors = [line for line in lines if "error" in line.lower()] or lines
    what = errors[0].strip() if errors else f"it ended with the status {status}"
    return f"{Path(command[0]).name} failed: {what}"
