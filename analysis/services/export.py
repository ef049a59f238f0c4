"""Writes a report to a folder. Every file appears whole or stays as it was; report.json comes last."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analysis.data.about import SIMULATED
from analysis.data.filters import ReportOptions
from analysis.report.page import render_file
from analysis.report.replication.build import replicate
from analysis.report.replication.words import markdown
from analysis.report.report import SCHEMA, Report, StoredReport
from analysis.report.services.save import save_report
from analysis.services.compute import Asked
from analysis.store import DEFAULT_FORMATS, FORMATS
from experiment.models import Study
from lib.files import write_file
from lib.names import escaped

# Documents below the folder; what is about simulated participants has a word before its name
CAPTIONS, PAGE = Path("figures/captions.md"), Path("report.html")
REPLICATION, NUMBERS = Path("replication.md"), Path("report.json")


@dataclass
class Written:
    """Files that were written, by kind, as paths below the folder."""

    tables: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)

    @property
    def n_files(self) -> int:
        return len(self.tables) + len(self.figures) + len(self.documents)


def write_report(
    study: Study,
    options: ReportOptions,
    report: Report,
    folder: Path,
    formats: Sequence[str] = DEFAULT_FORMATS,
    step: Callable[[str], None] | None = None,
    announce: Callable[[str], None] = lambda _: None,
) -> Written:
    """report.json, tables/*.csv, figures/*.{svg,png,pdf}, report.html and, for a BrainBench import, replication.md.

    Of simulated participants each file's name says so. The report is stored for the results page first; the files are copies of what the page shows.
    `step` is called before each of the last steps of `n_steps`, `announce` before each file.

    Raises:
        OSError: the folder cannot be written to.
    """
    for directory in (folder, folder / "tables", folder / "figures"):
        directory.mkdir(parents=True, exist_ok=True)
    result = Asked(study, options).keep(lambda row: save_report(row, report, step))
    stored = StoredReport(result)
    written, prefix = Written(), report.header.participants.file_prefix
    for stem in result.tables:
        name = f"tables/{prefix}{stem}.csv"
        write_file(folder / name, result.table_file(stem), durable=False)
        written.tables.append(name)
    for figure in stored.figures:
        for kind in formats:
            name = f"figures/{prefix}{figure.stem}.{kind}"
            announce(name)
            picture = result.figure_file(figure.stem, kind)
            write_file(folder / name, picture, durable=False)
            written.figures.append(name)
    _remove_stale(folder, written)
    # Pictures leave their titles and captions to the page around them
    captions = ["# Figures"]
    for figure in stored.figures:
        captions += ["", f"## {figure.stem}: {escaped(figure.title)}", "", escaped(figure.caption)]
        captions += ["", f"In words: {escaped(figure.alt)}"]
    documents = {CAPTIONS: "\n".join(captions) + "\n"}
    announce("report.html")
    documents[PAGE] = render_file(stored)
    if is_replicable(report):
        announce("replication.md")
        documents[REPLICATION] = markdown(replicate(study, report), study.title)
    documents[NUMBERS] = report.text()
    for path, text in documents.items():
        named = path.with_name(prefix + path.name)
        write_file(folder / named, text, durable=False)
        written.documents.append(named.as_posix())
    return written


def is_replicable(report: Report) -> bool:
    """True if it is about what the paper was: its people, texts and trials; the human-created test cases among them."""
    options = report.header.options
    whole = not options.models and not options.subfields
    as_then = (options.texts, options.trials, options.rules) == ("as-published", "analysed", None)
    people = report.header.participants
    imported = people.kind == "imported" and not people.is_joined
    is_brainbench = report.header.published.is_brainbench
    return is_brainbench and imported and whole and as_then and "human" in report.sources


def _remove_stale(folder: Path, written: Written) -> None:
    """Remove what an earlier report into this folder wrote and this one did not; other files stay."""
    prefixes = []
    for prefix in ("", SIMULATED):
        try:
            earlier = json.loads((folder / f"{prefix}{NUMBERS}").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(earlier, dict) and earlier.get("schema") == SCHEMA:
            prefixes.append(prefix)
    if not prefixes:
        return
    keep = {*written.tables, *written.figures}
    ours = [path for kind in FORMATS for path in folder.glob(f"figures/*_*.{kind}")]
    for path in (*folder.glob("tables/*_*.csv"), *ours):
        if path.relative_to(folder).as_posix() not in keep:
            path.unlink(missing_ok=True)
    for prefix in prefixes:
        for path in (CAPTIONS, PAGE, REPLICATION, NUMBERS):
            (folder / path.with_name(prefix + path.name)).unlink(missing_ok=True)
