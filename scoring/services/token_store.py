"""Token-level records: Parquet files in the storage `token_records`, a folder for each run and a file for each batch.

A batch's file is whole or not there. It takes its place just before the database's transaction with the batch's rows
ends, while the run is still this worker's. The rows say what is scored; a file without them is written again.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from django.core.files.storage import Storage, storages

from lib.storage import delete_folder, file_names, staged
from scoring.domain.backend import LogProbs
from scoring.domain.encoding import Encoded
from scoring.models import ScoringRun


class DamagedRecordError(Exception):
    """A file of the storage that is no token record."""


PART = re.compile(r"part-\d{5,}\.parquet")
SCHEMA = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        # Null for a corpus' text, whose row is in `unit`
        pa.field("item", pa.string()),
        pa.field("item_version", pa.int32()),
        pa.field("unit", pa.int32(), nullable=False),
        pa.field("version", pa.string(), nullable=False),  # original, altered; text of a corpus
        pa.field("position", pa.int32(), nullable=False),  # from 0
        pa.field("token_id", pa.int64(), nullable=False),
        pa.field("token", pa.string(), nullable=False),
        # In characters of the text; negative before it
        pa.field("start", pa.int32(), nullable=False),
        pa.field("end", pa.int32(), nullable=False),
        # Natural logarithm; null for the first token, which has no predecessor
        pa.field("logprob", pa.float64()),
        pa.field("in_text", pa.bool_(), nullable=False),
        pa.field("in_alternation", pa.bool_(), nullable=False),
    ]
)


@dataclass(frozen=True)
class TokenRecord:
    """A scored text, token by token: T tokens, T log-probabilities."""

    item: str | None
    item_version: int | None
    unit: int
    version: str
    encoded: Encoded
    logprobs: LogProbs


def part_name(run: ScoringRun, batch_index: int) -> str:
    return f"{run.uuid}/part-{batch_index:05d}.parquet"


def storage() -> Storage:
    return storages["token_records"]


@contextmanager
def staged_part(
    run: ScoringRun, batch_index: int, records: Sequence[TokenRecord]
) -> Iterator[Callable[[], object]]:
    """Prepare a batch's file; the function that it gives puts it in its place. Uncalled, nothing remains."""
    content = pa.BufferOutputStream()
    pq.write_table(as_table(run, records), content, compression="zstd")
    with staged(storage(), part_name(run, batch_index), content.getvalue().to_pybytes()) as publish:
        yield publish


def part_indices(run: ScoringRun) -> set[int]:
    """The batches that have a file."""
    return {int(name[len("part-") : -len(".parquet")]) for name in _part_names(run)}


def _part_names(run: ScoringRun) -> list[str]:
    return [name for name in file_names(storage(), str(run.uuid)) if PART.fullmatch(name)]


def as_table(run: ScoringRun, records: Sequence[TokenRecord]) -> pa.Table:
    """One row per token, texts one after the other."""
    tables = []
    for record in records:
        encoded, n = record.encoded, len(record.encoded.ids)
        has_logprob = np.arange(n) > 0
        values: dict[str, Any] = {
            "run": [str(run.uuid)] * n,
            "item": [record.item] * n,
            "item_version": [record.item_version] * n,
            "unit": np.full(n, record.unit),
            "version": [record.version] * n,
            "position": np.arange(n),
            "token_id": encoded.ids,
            "token": list(encoded.pieces),
            "start": encoded.spans[:, 0],
            "end": encoded.spans[:, 1],
            "logprob": pa.array(record.logprobs, pa.float64(), mask=~has_logprob),
            "in_text": encoded.in_text,
            "in_alternation": encoded.in_alternation,
        }
        tables.append(pa.table(values, schema=SCHEMA))
    return pa.concat_tables(tables) if tables else SCHEMA.empty_table()


def read_tokens(run: ScoringRun, item_key: str | None = None, unit: int | None = None) -> pa.Table:
    """The run's tokens, in the order of its batches; or those of one item or unit (of a corpus: row).

    A part may be there a moment before its rows are in the database.

    Raises:
        DamagedRecordError: one of the files cannot be read.
    """
    conditions: list[tuple[str, str, Any]] = []
    if item_key is not None:
        conditions.append(("item", "=", item_key))
    if unit is not None:
        conditions.append(("unit", "=", unit))
    tables = []
    for name in _part_names(run):
        with storage().open(f"{run.uuid}/{name}") as file:
            content = pa.BufferReader(file.read())
        try:
            tables.append(pq.read_table(content, schema=SCHEMA, filters=conditions or None))
        except (pa.ArrowException, OSError) as error:
            raise DamagedRecordError(f"{run.uuid}/{name} cannot be read: {error}") from error
    return pa.concat_tables(tables) if tables else SCHEMA.empty_table()


def remove_drafts(run: ScoringRun) -> None:
    """Remove what a killed worker left half-written."""
    for name in file_names(storage(), str(run.uuid)):
        if name.startswith("."):
            storage().delete(f"{run.uuid}/{name}")


def delete(run: ScoringRun) -> None:
    """Remove the run's records for good."""
    delete_folder(storage(), str(run.uuid))


def delete_run(run: ScoringRun) -> None:
    """Remove a run with all its scores and records."""
    # The files last: rows without files would be scored again, files without rows say nothing
    run.delete()
    delete(run)
