"""The short form of `make trust`: a few cases of every check, each on a site of its own. A file for each database, since a file is one process'."""

import json
import subprocess
import sys

from django.conf import settings

from benchmarks.management.commands.trust import is_asked
from benchmarks.trust.check import Database, Scale
from benchmarks.trust.checks import CHECKS
from tests.conftest import FORBID_SKIPS

SHORT = Scale(is_full=False)


def check_all(database: Database) -> None:
    """Every check of the short form on this database is green."""
    command = ["manage.py", "trust", "--short", "--seed", "1", "--json"]
    done = subprocess.run(
        [sys.executable, *command, "--database", database.lower()],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
    )
    assert done.stdout, done.stderr
    said = json.loads(done.stdout)
    assert "results" in said, said
    found, skipped = said["results"], said["skipped"]
    problems = {row["check"]: row for row in found if row["problems"]}
    assert not problems, json.dumps(problems, indent=1)
    assert done.returncode == 0, done.stderr
    asked = [c.name for c in CHECKS if database in c.on(SHORT) and is_asked(c, None)]
    assert [row["check"] for row in found] == [name for name in asked if name not in skipped]
    assert not (skipped and FORBID_SKIPS), skipped
