"""The web process serves pages about models without ever loading one."""

import subprocess
import sys

LOAD_ALL_PAGES = """
import django, sys
django.setup()
import config.wsgi
from django.urls import get_resolver
def walk(patterns):
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            walk(pattern.url_patterns)
        else:
            assert callable(pattern.callback)
walk(get_resolver().url_patterns)
import scoring.lab.views
heavy = {"torch", "transformers", "peft", "pyarrow", "celery", "pandas", "scipy", "sklearn", "altair"} & set(sys.modules)
assert not heavy, heavy
"""


def test_no_page_loads_torch_or_transformers(settings):
    run = subprocess.run(
        [sys.executable, "-c", LOAD_ALL_PAGES],
        env={"DJANGO_SETTINGS_MODULE": "config.settings", "VAR_DIR": str(settings.VAR_DIR)},
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
