"""The published data in the database: imported once a run; on SQLite whoever asks later gets a copy."""

import fcntl
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection, transaction

from tests import databases


def run_import(directory: Path, *options: str) -> dict[str, Any]:
    out = StringIO()
    call_command("import_brainbench", str(directory), "--json", *options, stdout=out)
    return json.loads(out.getvalue())


@contextmanager
def imported(results: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """The published data, with the report of their import; afterwards the database is as it was."""
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(":memory:")) as before:
            databases.copy_to(before)
            yield load(results, folder)
            databases.restore(before)
    else:
        with transaction.atomic():
            yield run_import(results)
            transaction.set_rollback(True)


def load(results: Path, folder: Path) -> dict[str, Any]:
    """Replace what an SQLite database holds by the published data; `folder` is that of all workers of the run."""
    copy, report = folder / "published.sqlite3", folder / "published.json"
    with (folder / "published.lock").open("w") as lock, closing(sqlite3.connect(copy)) as file:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if report.exists():
            databases.restore(file)
        else:
            found = run_import(results)
            databases.copy_to(file)
            report.write_text(json.dumps(found), encoding="utf-8")
    return json.loads(report.read_text(encoding="utf-8"))
