"""An export that is killed half-way leaves no half file, whatever its format."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as site
from django.core.management import call_command

from experiment.models import AuditEvent
from tests.experiment.http_client import ROOT, database_url
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db(transaction=True)

DIE = """
import os, signal, sys
import django
django.setup()
from django.core.management import call_command
from experiment.services.export import files, trials

trials.ROWS = 4
whole = files.trials

def half(*arguments):
    for n, block in enumerate(whole(*arguments)):
        if n == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        yield block

files.trials = half
call_command("export_trials", *sys.argv[1:])
"""


# Of a CSV file, the check of trust `export-killed`
@pytest.mark.parametrize("format_name", ["parquet", "psych-ds"])
def test_a_killed_command_leaves_what_was_there(tmp_path: Path, format_name: str) -> None:
    make_participant(make_study())
    there, new = tmp_path / "there", tmp_path / "new"
    there.write_text("yesterday's export")
    environment = {
        **os.environ,
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SECRET_KEY": site.SECRET_KEY,
    }
    asked = ("memory", "--set", "all", "--format", format_name, "--output")
    for path in (there, new):
        command = [sys.executable, "-c", DIE, *asked, str(path)]
        assert subprocess.run(command, cwd=ROOT, env=environment).returncode == -signal.SIGKILL
    assert there.read_text() == "yesterday's export"
    assert [path.name for path in tmp_path.iterdir() if path.name[0] != "."] == ["there"]
    assert not AuditEvent.objects.filter(action="exported").exists()
    call_command("export_trials", *asked, str(new), stdout=io.StringIO())
    assert new.stat().st_size > 1_000
