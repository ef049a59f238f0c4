"""Damaged files, read one after the other; after each refusal, which has a reason, the database has the rows that it had."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from django.core.files.base import ContentFile
from django.db import transaction
from hypothesis import strategies as st

from benchmarks.trust.fuzz.broken import Row, damaged, damaged_json, damaged_rows
from benchmarks.trust.fuzz.cases import HangError, Tally, for_each, time_limit
from benchmarks.trust.fuzz.material import Material, row_counts
from experiment.imports.read.items import Defaults, read_items
from experiment.imports.store.item_plans import ItemOptions
from experiment.imports.store.plans import Action
from experiment.imports.store.writing import PlanRefusedError, import_file
from experiment.models import Item
from experiment.services.file_places import StudyFileError, parse_here
from experiment.services.study_file import create, document
from experiment.services.study_language import load_texts
from lib import po
from scoring.domain.backend import ScoringError
from scoring.models import ScoringRun
from scoring.services import token_store
from scoring.training.corpus.read.reference import read_texts

LONGEST_S = 20.0
OPENING = "Ovens are hot. We heated {n} of them, and a baker, who was asked, agreed."
ROWS: list[Row] = [
    {
        "key": f"oven-{n}",
        "markup": f"{OPENING.format(n=n)} The loaf [[rose, fell]] in {n} minutes.",
        "subfield": ("Crust", "Crumb", "")[n % 3],
        "source": ("human", "machine")[n % 2],
        "generator": "GPT-4" if n % 2 else "",
        "doi": f"10.5555/oven.{n}",
        "publication_date": f"2024-03-{n + 1:02d}",
        "note": "As told, “twice”.",
    }
    for n in range(4)
]
TEXTS: list[Row] = [
    {"id": f"t-{n}", "text": f"Four score and {n} years ago, “it” was said."} for n in range(4)
]
OPTIONS = (ItemOptions(), ItemOptions(True, defaults=Defaults("machine", "GPT-4")))


class WrongImportError(Exception):
    """The import took something else than the files say."""


@dataclass(frozen=True, slots=True)
class Reader:
    """`read` says why a file was refused, or None where it was imported. What it raises is a mistake of the site."""

    name: str
    files: st.SearchStrategy[bytes]
    read: Callable[[bytes], object]


def check(holds: bool, what: str) -> None:
    if not holds:
        raise WrongImportError(what)


def as_csv(rows: list[Row]) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, rows[0], lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode("utf-8", "surrogatepass")


def as_lines(rows: list[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def damaged_table(rows: list[Row], write: Callable[[list[Row]], bytes]) -> st.SearchStrategy[bytes]:
    """Most often in one value, so that the others are read."""
    return damaged_rows(rows).map(write) | damaged_rows(rows).map(write) | damaged(write(rows))


def items_reader(material: Material) -> Reader:
    files = damaged_table(ROWS, as_csv) | damaged_table(ROWS, as_lines)

    def read(content: bytes) -> object:
        before = Item.objects.count()
        options = OPTIONS[len(content) % 2]
        try:
            # Here, since another process for each of thousands of files takes an hour
            file = read_items(content, options.defaults, options.columns)
            plan = import_file(file, material.research_field, options, by=material.user)
        except PlanRefusedError as refused:
            return refused.plan.problems
        changing = [row for row in plan.rows if row.action != Action.UNCHANGED]
        made = sum(not row.in_place for row in changing)
        check(Item.objects.count() - before == made, f"the plan says {made} new test cases")
        of_field = Item.objects.filter(field=plan.research_field.name)
        texts = set(of_field.values_list("original", "altered"))
        for row in changing:
            check((row.record.original, row.record.altered) in texts, "a row is not there")
        return None

    return Reader("items", files, read)


def study_reader(material: Material) -> Reader:
    good = document(material.study)
    good["study"] |= {"slug": "from-file", "title": "From a file"}
    good["items"] = [*good["items"][:3], {"key": "new", "markup": "It is new. It [[rose, fell]]."}]
    files = damaged_json(good) | damaged_json(good) | damaged(json.dumps(good).encode())

    def read(content: bytes) -> object:
        try:
            study = create(parse_here(content), by=material.user)
        except StudyFileError as refused:
            return refused.messages
        # What was made says of itself what makes the same again
        said = document(study)
        again = create(parse_here(json.dumps(said).encode()), slug="again", title="Again")
        told = document(again)
        for name in ("slug", "title"):
            del said["study"][name], told["study"][name]
        check(told == said, "the study's file makes another study")
        return None

    return Reader("study", files, read)


def wording_reader(material: Material) -> Reader:
    good = po.write("de", [po.Message("Continue", ("Go on",)), po.Message("Back", ("Zurück",))])

    def read(content: bytes) -> object:
        try:
            messages = list(po.read(content.decode("utf-8-sig")))
        except (UnicodeDecodeError, po.PoError) as refused:
            return refused
        own = load_texts(material.study, messages).n
        check(own == material.study.texts.count(), "another number of texts than it says")
        return None

    return Reader("wording", damaged(good.encode()), read)


def corpus_reader(suffix: str, write: Callable[[list[Row]], bytes]) -> Reader:
    def read(content: bytes) -> object:
        try:
            rows = read_texts(content, Path(f"a.{suffix}"), "text", "id")
        except ScoringError as refused:
            return refused
        check(bool(rows) and all(isinstance(row.text, str) for row in rows), "a text is none")
        return None

    return Reader("reference texts", damaged_table(TEXTS, write), read)


def tokens_reader() -> Reader:
    n, run = 6, ScoringRun(uuid=uuid4())
    name = token_store.part_name(run, 0)
    numbers = list(range(n))
    values = {
        "run": ["a"] * n,
        "item": ["item-1"] * n,
        "item_version": [1] * n,
        "unit": [0] * n,
        "version": ["original"] * n,
        "position": numbers,
        "token_id": numbers,
        "token": list("abcdef"),
        "start": numbers,
        "end": [number + 1 for number in numbers],
        "logprob": pa.array(np.arange(n) * -1.0, pa.float64()),
        "in_text": [True] * n,
        "in_alternation": [False] * n,
    }
    good = pa.BufferOutputStream()
    pq.write_table(pa.table(values, schema=token_store.SCHEMA), good, compression="zstd")

    def read(content: bytes) -> object:
        storage = token_store.storage()
        storage.save(name, ContentFile(content))
        try:
            table = token_store.read_tokens(run)
        except token_store.DamagedRecordError as refused:
            return refused
        finally:
            storage.delete(name)
        check(table.schema == token_store.SCHEMA, "another schema")
        return None

    return Reader("token records", damaged(good.getvalue().to_pybytes()), read)


def run(material: Material, seed: int, n: int) -> Tally:
    """Every case begins with the same rows: what it writes is rolled back."""
    tally = Tally()
    readers = [
        items_reader(material),
        items_reader(material),
        study_reader(material),
        wording_reader(material),
        corpus_reader("jsonl", as_lines),
        corpus_reader("csv", as_csv),
        tokens_reader(),
    ]
    with _undone():
        before = row_counts()
    for number, reader in enumerate(readers):
        for_each(
            reader.files,
            max(1, n // len(readers)),
            seed + number,
            lambda content, reader=reader: _try(reader, content, before, tally),  # type: ignore[misc]
        )
    return tally


def _try(reader: Reader, content: bytes, before: dict[str, int], tally: Tally) -> None:
    tally.cases += 1
    try:
        with _undone(), time_limit(LONGEST_S):
            reasons = reader.read(content)
            if reasons is not None:
                check(bool(str(reasons).strip(" []")), "refused without a reason")
                check(row_counts() == before, "refused, and partly written")
    except (WrongImportError, HangError) as error:
        tally.fail(f"{reader.name}: {error}: {content[:300]!r}")
    except Exception as error:  # noqa: BLE001 - every other error is what is looked for
        tally.errors += 1
        tally.fail(f"{reader.name}: {type(error).__name__}: {error}: {content[:300]!r}")
    else:
        tally.taken += reasons is None
        tally.refused += reasons is not None


@contextmanager
def _undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
