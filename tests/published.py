"""The published data in the database: imported once a run, and copied for whoever asks later."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import call_command

from tests import databases


def run_import(directory: Path, *options: str) -> dict[str, Any]:
    out = StringIO()
    call_command("import_brainbench", str(directory), "--json", *options, stdout=out)
    return json.loads(out.getvalue())


@contextmanager
def imported(results: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """The published data, with the report of their import; afterwards the database is empty, as it was."""
    report = load(results, folder)
    try:
        yield report
    finally:
        databases.empty()


def load(results: Path, folder: Path) -> dict[str, Any]:
    """Have the published data in an empty database; `folder` is that of all workers of the run."""
    return databases.fill("published", partial(run_import, results), folder)
