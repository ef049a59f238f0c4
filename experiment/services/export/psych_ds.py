"""Tables as a data set of Psych-DS (psych-ds.github.io): a folder in a zip, with a dictionary of all columns.

data/*_data.csv: names of keywords and values; dataset_description.json: schema.org's Dataset in JSON-LD.
"""

import json
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, BinaryIO, cast

from django.template.loader import render_to_string

from experiment.domain import codebook
from experiment.domain.codebook import Column
from experiment.models import Study
from experiment.services.export.tables import Table
from lib.table_files import Digesting, writing

LEVEL = 1  # of compression: of rows that repeat a text, little is gained beyond
CONTEXT = "https://schema.org"
UNITS = {"boolean": "true or false", "date": "YYYY-MM-DD", "time": "ISO 8601 with offset"}


def data_file(study: Study, table: str) -> str:
    """
    The name of a table's file: values of keywords hold letters and digits alone.
    """
    return f"data/study-{_plain(study.slug)}_description-{_plain(table)}_data.csv"


@dataclass(frozen=True, slots=True)
class Written:
    """A table in its file."""

    table: Table
    file: str
    rows: int
    sha256: str


def write(archive: zipfile.ZipFile, study: Study, tables: Iterable[Table]) -> list[Written]:
    """Write the data files, one table after the other: the next one is asked for when the last one is there."""
    written = []
    for table in tables:
        name, n = data_file(study, table.name), 0
        with archive.open(name, "w", force_zip64=True) as file:
            target = Digesting(cast("BinaryIO", file))
            with writing("csv", cast("BinaryIO", target), table.columns) as append:
                for block in table.blocks:
                    append(block)
                    n += len(block[0])
        written.append(Written(table, name, n, target.digest.hexdigest()))
    return written


def describe(
    archive: zipfile.ZipFile,
    study: Study,
    written: Sequence[Written],
    manifest: dict[str, Any],
) -> None:
    """What the data are: for programs, for people, and as of when."""
    columns: dict[str, Column] = {}
    for column in chain.from_iterable(one.table.columns for one in written):
        known = columns.setdefault(column.name, column)
        nulls = dict.fromkeys(null for null in (known.null, column.null) if null)
        columns[column.name] = replace(known, null="; ".join(nulls))
    context: dict[str, Any] = {
        "study": study,
        "manifest": manifest,
        "files": [(one.file, one.table.description) for one in written],
    }
    text = render_to_string("experiment/export/description.txt", context).strip()
    description = {
        "@context": CONTEXT,
        "@type": "Dataset",
        "name": study.title or study.slug,
        "description": text,
        "schemaVersion": "Psych-DS 0.4.0",
        "inLanguage": study.abstract_language,
        "dateCreated": manifest["made_at"],
        "version": manifest["made_at"][:10],
        "keywords": [word for word in ("psychology", "forecasting", study.field) if word],
        "variableMeasured": list(map(variable, columns.values())),
    }
    archive.writestr("dataset_description.json", _json(description))
    context["description"] = text
    archive.writestr("README.md", render_to_string("experiment/export/readme.md", context))
    archive.writestr("CHANGES.md", render_to_string("experiment/export/changes.md", context))
    archive.writestr("documentation/manifest.json", _json(manifest))
    archive.writestr("documentation/codebook.md", codebook.as_markdown())


def variable(column: Column) -> dict[str, Any]:
    """A column as schema.org's PropertyValue."""
    said = {
        "@type": "PropertyValue",
        "name": column.name,
        "description": column.meaning
        + (f" One of: {', '.join(column.levels)}." if column.levels else "")
        + (f" Empty: {column.null}." if column.null else ""),
    }
    unit = column.unit or UNITS.get(column.type, "")
    return said | ({"unitText": unit} if unit else {})


def _plain(text: str) -> str:
    """
    >>> _plain("memory-2_b")
    'memory2b'
    """
    return re.sub(r"[^A-Za-z0-9]", "", text) or "study"


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
