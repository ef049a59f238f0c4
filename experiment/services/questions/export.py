"""A field's questions as files, in our columns or the published ones: an import reads each cell back as it was."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from experiment.domain.questions import made_from
from experiment.domain.questions.columns import (
    DIMENSION,
    MADE_FROM,
    NOTE,
    OWN,
    PUBLISHED,
    join,
    split,
)
from experiment.models import Item, ResearchField
from experiment.services.item_export.forms import csv_line
from experiment.services.item_export.select import select
from lib.table_files import CONTENT_TYPES, writing

FORMATS = tuple(CONTENT_TYPES)
COLUMNS = ("own", "published")
# Our columns whose values have another name on an item
_PLACES = {"question": "markup", "answer": "expert_answer"}


@dataclass(frozen=True, slots=True)
class WantedQuestions:
    """form: csv, jsonl or parquet. columns: own or published. status: of Item.Status, or `all`."""

    research_field: ResearchField
    form: str = "csv"
    columns: str = "own"
    status: str = Item.Status.ACCEPTED.value

    @property
    def items(self) -> list[Item]:
        return select(self.research_field, self.status, kinds=(Item.Kind.QUESTION,))

    @property
    def file_name(self) -> str:
        ends = "" if self.status == "accepted" else f"-{self.status}"
        return f"{self.research_field.slug}-questions{ends}.{self.form}"


@dataclass(frozen=True, slots=True)
class _Text:
    """A column of a Parquet file."""

    name: str
    meaning: str = ""
    type: str = "text"
    null: str = ""


def content(wanted: WantedQuestions, items: Sequence[Item]) -> bytes:
    names = dict.fromkeys(name for item in items for name in item.categories)
    if wanted.columns == "published":
        columns = dict(PUBLISHED) | {f"{name}{DIMENSION}": f"{name}{DIMENSION}" for name in names}
    else:
        own = (*OWN, *(f"{name}{DIMENSION}" for name in names), NOTE, MADE_FROM)
        columns = dict(zip(own, own, strict=True))
    rows = ([_cell(item, place) for place in columns.values()] for item in items)
    if wanted.form == "csv":
        return b"".join((csv_line(columns), *map(csv_line, rows)))
    if wanted.form == "jsonl":
        return b"".join(_json_lines(list(columns), rows))
    file = io.BytesIO()
    with writing("parquet", file, [_Text(name) for name in columns]) as write:
        write(list(map(list, zip(*rows, strict=True))) or [[] for _ in columns])
    return file.getvalue()


def _json_lines(columns: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[bytes]:
    for row in rows:
        written: Mapping[str, str] = dict(zip(columns, row, strict=True))
        yield (json.dumps(written, ensure_ascii=False) + "\n").encode()


def _cell(item: Item, column: str) -> str:
    if column == "template":
        return item.template.key if item.template else ""
    if column == MADE_FROM:
        return made_from.written(item.made_from)
    if not column.endswith(DIMENSION):
        return str(getattr(item, _PLACES.get(column, column)))
    name = column.removesuffix(DIMENSION)
    found = list(item.categories.get(name, ()))
    # As a file had it, where it was written otherwise and still says the same
    written = item.made_from.get("cells", {}).get(name, "")
    return written if written and split(written) == found else join(found)
