"""What `team` writes."""

import json
from pathlib import Path

from analysis.services import compute
from analysis.store import DEFAULT_FORMATS, table_text
from analysis.teams.options import TeamOptions
from analysis.teams.services import TeamReport, save_teams
from experiment.models import Study
from lib.files import write_file


def write(
    study: Study,
    wanted: TeamOptions,
    report: TeamReport,
    predictions: Path | None,
    folder: Path | None,
) -> list[str]:
    """Write the held-out predictions and the folder, where they are wanted; says so in lines."""
    lines = []
    if predictions:
        table = report.tables["predictions"]
        text = table_text(table, report.document.participants.kind)
        write_file(predictions, text, durable=False)
        lines += ["", f"{len(table):,} held-out predictions in {predictions}"]
    if folder:
        lines += ["", f"{_write_folder(study, wanted, report, folder)} files in {folder}"]
    return lines


def _write_folder(study: Study, wanted: TeamOptions, report: TeamReport, folder: Path) -> int:
    """Store the result for the page, and copy its files; returns how many."""
    result = compute.keep(study, wanted, lambda row: save_teams(row, report))
    for name in ("tables", "figures"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    prefix = report.document.participants.file_prefix
    for name in result.tables:
        path = folder / "tables" / f"{prefix}{name}.csv"
        write_file(path, result.table_file(name), durable=False)
    for figure in result.figures:
        for form in DEFAULT_FORMATS:
            path = folder / "figures" / f"{prefix}{figure.stem}.{form}"
            write_file(path, result.figure_file(figure.stem, form), durable=False)
    text = json.dumps(report.values, indent=1, allow_nan=False) + "\n"
    write_file(folder / f"{prefix}teams.json", text, durable=False)
    return 1 + len(result.tables) + len(DEFAULT_FORMATS) * len(result.figures)
