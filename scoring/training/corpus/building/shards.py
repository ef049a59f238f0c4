"""Parquet shards of one part of a corpus: a row per document, a row group in memory at a time. Decides nothing."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from scoring.training.corpus.building.statistics import Statistics, TokenCounter
from scoring.training.corpus.document import Document
from scoring.training.corpus.manifest import SHARD, File, Part, sha256

NAMES = [field.name for field in fields(Document)]
SCHEMA = pa.schema([*((name, pa.string()) for name in NAMES), ("tokens", pa.int64())])
GROUP_CHARACTERS, GROUP_DOCUMENTS = 4 * 2**20, 2_000
SHARD_CHARACTERS = 2**29


def write_part(
    folder: Path,
    part: Part,
    documents: Iterable[Document],
    counter: TokenCounter,
    statistics: Statistics,
) -> dict[str, File]:
    """Write the part's shards, count what they hold, and return them by name."""
    groups = _groups(documents)
    written: dict[str, File] = {}
    group = next(groups, None)
    while group is not None:
        name, size, rows = SHARD.format(part=part, number=len(written)), 0, 0
        # Opened here, so that a full disk is the system's error and not the library's
        with (
            (folder / name).open("xb") as file,
            pq.ParquetWriter(file, SCHEMA, compression="zstd", use_dictionary=False) as writer,
        ):
            while group is not None and size < SHARD_CHARACTERS:
                tokens = counter.count([document.text for document in group])
                for document, n in zip(group, tokens, strict=True):
                    statistics.add(part, document, n)
                columns = [[getattr(document, name) for document in group] for name in NAMES]
                writer.write_table(pa.table([*columns, tokens], schema=SCHEMA))
                size, rows = size + _characters(group), rows + len(group)
                group = next(groups, None)
        path = folder / name
        written[name] = File(sha256(path), path.stat().st_size, rows)
    return written


def _groups(documents: Iterable[Document]) -> Iterator[Sequence[Document]]:
    group: list[Document] = []
    size = 0
    for document in documents:
        group.append(document)
        size += len(document.text)
        if size >= GROUP_CHARACTERS or len(group) == GROUP_DOCUMENTS:
            yield group
            group, size = [], 0
    if group:
        yield group


def _characters(group: Sequence[Document]) -> int:
    return sum(len(document.text) for document in group)
