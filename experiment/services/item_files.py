"""Test cases as files: in the forms that import_items reads, as a folder of Hugging Face's datasets, and those that somebody sent to be looked at before they are imported."""

import io
import json
import re
import secrets
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages
from django.utils import timezone

from experiment.domain.export_columns import Column, ColumnType
from experiment.domain.item_columns import MEANINGS, OWN, PUBLISHED
from experiment.models import Item, ItemImport, ResearchField
from experiment.services.data_card import DATA, FEATURES, data_card
from lib.csv_lines import line, line_of
from lib.files import write_file
from lib.storage import delete_folder, file_names, folder_names
from lib.table_files import CONTENT_TYPES, ZIP_TYPE, table_bytes

ALL = "all"
STATUSES = (*Item.Status.values, ALL)


PAIRS = (Item.Kind.TEST, Item.Kind.CATCH, Item.Kind.PRACTICE)


def select(
    research_field: ResearchField,
    status: str = Item.Status.ACCEPTED.value,
    source: str = "",
    kinds: Collection[str] = PAIRS,
) -> list[Item]:
    """The newest version of each test case that has this status, in the order in which the test cases came.

    Of any status where `all` is asked for; built-in pairs are left out.
    """
    every = Item.objects.filter(field=research_field.name, kind__in=kinds).order_by("pk")
    every = every.exclude(is_demo=True, kind__in=PAIRS).select_related("template")
    came: Mapping[str, int] = {
        key: n for n, key in enumerate(dict.fromkeys(every.values_list("key", flat=True)))
    }
    wanted = every if status == ALL else every.filter(status=status)
    if source:
        wanted = wanted.filter(source=source)
    newest = {item.key: item for item in wanted.order_by("version")}
    return sorted(newest.values(), key=lambda item: came[item.key])


class NotInThisFormError(Exception):
    """The published columns cannot hold these test cases; the message says why."""


def value(item: Item, column: str) -> str | int:
    """As our own form has it: empty where there is none."""
    found = getattr(item, column)
    if column == "version":
        return int(found)
    return "" if found is None else str(found)


def csv_lines(items: Iterable[Item]) -> Iterator[bytes]:
    yield line(OWN)
    for item in items:
        yield line_of(str(value(item, column)) for column in OWN)


def sheet_lines(items: Iterable[Item]) -> Iterator[bytes]:
    types: dict[str, ColumnType] = {"version": "integer", "publication_date": "date"}
    columns = [Column(name, said, types.get(name, "text")) for name, said in MEANINGS.items()]
    rows = ([getattr(item, name) for name in OWN] for item in items)
    yield table_bytes(XLSX, columns, rows)


def json_lines(items: Iterable[Item]) -> Iterator[bytes]:
    for item in items:
        row = {column: value(item, column) for column in OWN}
        yield (json.dumps(row, ensure_ascii=False) + "\n").encode()


def published_lines(items: Sequence[Item]) -> Iterator[bytes]:
    """The columns of the published BrainBench files, which say nothing of source, kind and key.

    Raises:
        NotInThisFormError: the test cases are of both sources, or some are no tests.
    """
    if len({item.source for item in items}) > 1:
        raise NotInThisFormError("Each published file contains one source. Choose one.")
    if any(item.kind != Item.Kind.TEST for item in items):
        raise NotInThisFormError(
            "The published files contain only tests, no catch or practice items."
        )
    return _published(items)


def _published(items: Sequence[Item]) -> Iterator[bytes]:
    yield line(PUBLISHED)
    for item in items:
        doi = f"https://doi.org/{item.doi}" if item.doi else ""
        yield line_of(
            doi if name == "doi" else str(value(item, name)) for name in PUBLISHED.values()
        )


COLUMNS = tuple(name for name in OWN if name not in ("version", "status"))
_EXAMPLES = (
    {
        "key": "example-1",
        "kind": "test",
        "source": "human",
        "generator": "your name",
        "doi": "10.1234/example.1",
        "publication_date": "2024-03-31",
        "markup": "Twenty adults kept a diary of what they drank in the evening. After coffee at six o'clock they fell asleep "
        "[[later, sooner]] than after water, and their sleep was [[lighter, deeper]] in the first hours of the night.",
        "note": "Overwrite these two rows. You can delete all columns except markup.",
    },
    {
        "key": "example-2",
        "kind": "test",
        "source": "machine",
        "generator": "name of the model",
        "markup": "Adults who were kept awake for one night recalled [[fewer, more]] of forty words the next day. A nap of "
        "ninety minutes [[made up for part of the loss | did nothing, or next to nothing, about the loss]].",
        "note": "If a passage contains a comma, write a vertical bar between two spaces.",
    },
)


def template_csv(subfield: str = "") -> bytes:
    """CSV, of a subfield where one is named."""
    rows = [row | {"subfield": subfield} for row in _EXAMPLES]
    return b"".join(
        (line_of(COLUMNS), *(line_of(row.get(name, "") for name in COLUMNS) for row in rows))
    )


CARD = "README.md"


class NothingToExportError(Exception):
    """There is no test to write."""


def hugging_face_folder(wanted: "Wanted", items: Sequence[Item]) -> dict[str, bytes]:
    """Contents by path within the folder. Catch and practice items are left out.

    Raises:
        NothingToExportError: there is no test among the items.
    """
    tests = [item for item in items if item.kind == Item.Kind.TEST]
    if not tests:
        raise NothingToExportError("There are no test cases of kind “test” to export.")
    rows = []
    for item in tests:  # every row has every feature: what there is not is null
        row = {name: getattr(item, name) or None for name in FEATURES}
        if item.publication_date:
            row["publication_date"] = item.publication_date.isoformat()
        rows.append(json.dumps(row, ensure_ascii=False) + "\n")
    data = "".join(rows).encode()
    card = data_card(wanted.research_field.name, wanted.license, wanted.language, tests, len(data))
    return {CARD: card.encode(), DATA: data}


CSV, JSONL, XLSX, BRAINBENCH, HUGGING_FACE = "csv", "jsonl", "xlsx", "brainbench", "hf"
FORMATS = (CSV, JSONL, XLSX, BRAINBENCH, HUGGING_FACE)
TYPES = CONTENT_TYPES | {BRAINBENCH: CONTENT_TYPES[CSV], HUGGING_FACE: ZIP_TYPE}


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
            XLSX: ".xlsx",
            BRAINBENCH: "-brainbench.csv",
            HUGGING_FACE: "-hf.zip",
        }
        return "-".join(part for part in parts if part) + suffix[self.form]


def lines(wanted: Wanted, items: list[Item]) -> Iterable[bytes]:
    """A file of one form.

    Raises:
        NotInThisFormError: it cannot hold these test cases.
    """
    writers = {
        CSV: csv_lines,
        JSONL: json_lines,
        XLSX: sheet_lines,
        BRAINBENCH: published_lines,
    }
    return writers[wanted.form](items)


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
        for path, content in hugging_face_folder(wanted, items).items():
            archive.writestr(path, content)
    return file.getvalue()


def write(wanted: Wanted, path: Path) -> int:
    """Write the file, or the files of a folder; how many test cases were chosen.

    Raises:
        NotInThisFormError, NothingToExportError: it cannot hold these test cases.
    """
    items = wanted.items
    if wanted.form == HUGGING_FACE:
        for name, content in hugging_face_folder(wanted, items).items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            write_file(path / name, content)
    else:
        write_file(path, b"".join(lines(wanted, items)))
    return len(items)


KEPT = timedelta(days=1)
MOST_KEPT = 5  # of a person and field, beside those that wait for a worker: each may be 30 MB
UPLOADS = "item-imports"
_NAME = re.compile(r"[0-9a-f]{32}")


def keep_upload(research_field: ResearchField, user: User, data: bytes) -> str:
    """Store a file; its name is for `read`. The oldest ones beyond MOST_KEPT are deleted."""
    wanted = research_field.imports.filter(created_by=user, status__in=ItemImport.OPEN_STATUSES)
    folder = _path(research_field, user, "")
    names = {*file_names(_storage(), folder)} - {*wanted.values_list("upload", flat=True)}
    ages = {}
    for old in names:
        with suppress(FileNotFoundError):  # another upload has made room meanwhile
            ages[folder + old] = _storage().get_modified_time(folder + old)
    paths = sorted(ages, key=lambda path: ages[path])
    for path in paths[: max(0, len(paths) + 1 - MOST_KEPT)]:
        _storage().delete(path)
    name = secrets.token_hex(16)
    _storage().save(_path(research_field, user, name), ContentFile(data))
    return name


def read_upload(research_field: ResearchField, user: User, name: str) -> bytes:
    """A file's bytes.

    Raises:
        FileNotFoundError: the user sent no such file for the field, or more than a day ago.
    """
    path = _path(research_field, user, name)
    if not _NAME.fullmatch(name) or not _storage().exists(path) or _is_old(path):
        raise FileNotFoundError(path)
    with _storage().open(path) as file:
        data: bytes = file.read()
    return data


def forget_upload(research_field: ResearchField, user: User, name: str) -> None:
    _storage().delete(_path(research_field, user, name))


def delete_old_uploads() -> None:
    """Delete what was sent more than a day ago."""
    for folder in folder_names(_storage(), UPLOADS):
        for name in file_names(_storage(), f"{UPLOADS}/{folder}"):
            if _is_old(f"{UPLOADS}/{folder}/{name}"):
                _storage().delete(f"{UPLOADS}/{folder}/{name}")
        if not file_names(_storage(), f"{UPLOADS}/{folder}"):
            delete_folder(_storage(), f"{UPLOADS}/{folder}")


def _is_old(path: str) -> bool:
    return bool(_storage().get_modified_time(path) < timezone.now() - KEPT)


def _path(research_field: ResearchField, user: User, name: str) -> str:
    return f"{UPLOADS}/{research_field.pk}-{user.pk}/{name}"


def _storage() -> Storage:
    return storages["results"]
