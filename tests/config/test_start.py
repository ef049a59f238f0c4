"""Fast starts stay fast: no command or worker loads the libraries that compute before it computes. Structure, not seconds."""

import json
import subprocess
from pathlib import Path

from tests import processes

LOADED = (
    "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
)
COMMANDS = """
import django, sys
django.setup()
from django.core.management import get_commands, load_command_class
ours = {name: app for name, app in get_commands().items() if app in ("experiment", "scoring", "analysis")}
assert len(ours) > 15
for name, app in ours.items():
    load_command_class(app, name).create_parser("manage.py", name)
"""
WORKER = """
from config.celery import app
app.loader.import_default_modules()
assert "jobs.work" in app.tasks
"""
CHECKS = """
import django, sys
django.setup()
from lib.commands import ReportingCommand
ReportingCommand().check(tags=ReportingCommand.requires_system_checks)
assert "config.urls" not in sys.modules
"""
COMPUTING = {"altair", "pandas", "scipy", "sklearn", "statsmodels", "torch", "transformers"}


def run(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    done = processes.run("-c", code, folder=folder, **environment)
    assert done.returncode == 0, done.stderr
    return done


def loaded(code: str, folder: Path) -> set[str]:
    return set(json.loads(run(code + LOADED, folder).stdout))


def test_no_command_loads_what_computes_before_it_has_read_its_arguments(tmp_path):
    assert not loaded(COMMANDS, tmp_path) & {*COMPUTING, "celery"}


def test_a_worker_waits_for_jobs_without_what_computes(tmp_path):
    found = loaded(WORKER, tmp_path)
    assert "celery" in found
    assert not found & COMPUTING


def test_a_command_checks_the_sites_address_but_loads_no_pages(tmp_path):
    done = run(CHECKS, tmp_path, BASE_URL="https://elsewhere.example.org")
    assert "experiment.W001" in done.stderr
