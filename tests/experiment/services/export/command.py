"""The command `export_trials`, and the rows of the file that it writes."""

import csv
from pathlib import Path

from experiment.models import Study
from tests.experiment.lab_client import run


def export(
    study: Study, *arguments: str, path: Path, set_name: str = "all"
) -> list[dict[str, str]]:
    asked = (study.slug, "--set", set_name, "--output", str(path), *arguments)
    run("export_trials", *asked)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
