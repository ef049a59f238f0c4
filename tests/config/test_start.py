"""What starts fast stays so: no command or worker loads what computes before it computes. Structure, not seconds."""

import json
import os
import subprocess
import sys

from django.conf import settings

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


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ
        | {"DJANGO_SETTINGS_MODULE": "config.settings", "VAR_DIR": str(settings.VAR_DIR)}
        | environment,
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )


def loaded(code: str) -> set[str]:
    return set(json.loads(run(code + LOADED).stdout))


def test_no_command_loads_what_computes_before_it_has_read_its_arguments():
    assert not loaded(COMMANDS) & {*COMPUTING, "celery"}


def test_a_worker_waits_for_jobs_without_what_computes():
    found = loaded(WORKER)
    assert "celery" in found
    assert not found & COMPUTING


def test_a_command_checks_the_sites_address_but_loads_no_pages():
    done = run(CHECKS, BASE_URL="https://elsewhere.example.org")
    assert "experiment.W001" in done.stderr
