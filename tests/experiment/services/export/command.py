"""The command `export_trials`, and the rows of the file that it writes."""

import csv
import io
from pathlib import Path

from django.core.management import call_command

from experiment.models import Study


def export(
    study: Study, *arguments: str, path: Path, set_name: str = "all"
) -> list[dict[str, str]]:
    call_command(
        "export_trials",
        study.slug,
        "--set",
        set_name,
        "--output",
        str(path),
        *arguments,
        stdout=io.StringIO(),
    )
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
