"""Files of test cases in the form that is asked for."""

import io
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from experiment.models import Item, ResearchField
from experiment.services.item_export import hugging_face
from experiment.services.item_export.forms import csv_lines, json_lines, published_lines
from experiment.services.item_export.select import select
from lib.files import write_file

CSV, JSONL, PUBLISHED, HUGGING_FACE = "csv", "jsonl", "brainbench", "hf"
FORMATS = (CSV, JSONL, PUBLISHED, HUGGING_FACE)
TYPES = {
    CSV: "text/csv; charset=utf-8",
    JSONL: "application/x-ndjson",
    PUBLISHED: "text/csv; charset=utf-8",
    HUGGING_FACE: "application/zip",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """status: of Item.Status, or `all`. source: `human`, `machine` or empty for both. license: of a Hugging Face folder."""

    research_field: ResearchField
    form: str = CSV
    status: str = Item.Status.ACCEPTED.value
    source: str = ""
    license: str = "unknown"
    language: str = "en"

    @property
    def items(self) -> list[Item]:
        return select(self.research_field, self.status, self.source)

    @property
    def file_name(self) -> str:
        parts = (
            self.research_field.slug,
            self.source,
            "" if self.status == "accepted" else self.status,
        )
        suffix = {
            CSV: ".csv",
            JSONL: ".jsonl",
            PUBLISHED: "-brainbench.csv",
            HUGGING_FACE: "-hf.zip",
        }
        return "-".join(part for part in parts if part) + suffix[self.form]


def lines(wanted: Wanted, items: list[Item]) -> Iterable[bytes]:
    """A file of one form.

    Raises:
        NotInThisFormError: it cannot hold these test cases.
    """
    writers = {CSV: csv_lines, JSONL: json_lines, PUBLISHED: published_lines}
    return writers[wanted.form](items)


def folder(wanted: Wanted, items: list[Item]) -> dict[str, bytes]:
    """The files of a Hugging Face folder, by path.

    Raises:
        NothingToExportError: no tests.
    """
    return hugging_face.folder(wanted.research_field, items, wanted.license, wanted.language)


def download(wanted: Wanted) -> bytes:
    """One file: a folder as a zip.

    Raises:
        NotInThisFormError, NothingToExportError: it cannot hold these test cases.
    """
    items = wanted.items
    if wanted.form != HUGGING_FACE:
        return b"".join(lines(wanted, items))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in folder(wanted, items).items():
            archive.writestr(path, content)
    return file.getvalue()


def write(wanted: Wanted, path: Path) -> int:
    """Write the file, or the files of a folder; how many test cases were chosen.

    Raises:
        NotInThisFormError, NothingToExportError: it cannot hold these test cases.
    """
    items = wanted.items
    if wanted.form == HUGGING_FACE:
        for name, content in folder(wanted, items).items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            write_file(path / name, content)
    else:
        write_file(path, b"".join(lines(wanted, items)))
    return len(items)
