"""Reference texts, and token records: files that are read and write no row."""

import csv
import io
import json
import random
import tempfile
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from django.core.files.base import ContentFile

from benchmarks.trust.fuzz.breaking.content import broken, cut_off, flipped
from benchmarks.trust.fuzz.breaking.tables import broken_table
from benchmarks.trust.fuzz.breaking.trees import broken_lines
from benchmarks.trust.fuzz.imports.readers import Files, Reader, check, said
from scoring.domain.backend import ScoringError
from scoring.models import ScoringRun
from scoring.services import token_store
from scoring.services.corpora import describe_corpus, read_corpus

TEXTS = [
    {"id": f"t-{n}", "text": f"Four score and {n} years ago, “it” was said."} for n in range(4)
]
FOOTER = 8  # bytes at a Parquet file's end: the length of what describes it, and a mark


def corpus_reader() -> Reader:
    lines = "".join(json.dumps(row) + "\n" for row in TEXTS).encode()
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerows([[*TEXTS[0]], *([*row.values()] for row in TEXTS)])
    table = file.getvalue().encode()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))

    def make(rng: random.Random) -> Files:
        if rng.random() < 0.5:
            return {"a.jsonl": rng.choice((broken, broken_lines))(rng, lines)}
        return {"a.csv": rng.choice((broken, broken_table))(rng, table)}

    def read(files: Files, rng: random.Random) -> bool:
        ((name, content),) = files.items()
        path = folder / name
        path.write_bytes(content)
        try:
            rows = read_corpus(describe_corpus(path))
        except ScoringError as refused:
            return said(refused)
        check(bool(rows) and all(isinstance(row.text, str) for row in rows), "a text is none")
        check([row.row for row in rows] == list(range(1, len(rows) + 1)), "rows are not numbered")
        return True

    return Reader("reference texts", 8, make, read, writes=False)


def _tokens() -> bytes:
    n = 6
    values = {
        "run": ["a"] * n,
        "item": ["item-1"] * n,
        "item_version": [1] * n,
        "unit": [0] * n,
        "version": ["original"] * n,
        "position": list(range(n)),
        "token_id": list(range(n)),
        "token": list("abcdef"),
        "start": list(range(n)),
        "end": list(range(1, n + 1)),
        "logprob": pa.array(np.arange(n) * -1.0, pa.float64()),
        "in_text": [True] * n,
        "in_alternation": [False] * n,
    }
    content = pa.BufferOutputStream()
    pq.write_table(pa.table(values, schema=token_store.SCHEMA), content, compression="zstd")
    found: bytes = content.getvalue().to_pybytes()
    return found


def tokens_reader() -> Reader:
    good, run = _tokens(), ScoringRun(uuid=uuid4())
    name = token_store.part_name(run, 0)

    def make(rng: random.Random) -> Files:
        match rng.randrange(4):
            case 0:
                length = rng.choice((0, 1, 7, 2**31 - 1, 2**32 - 1, len(good), rng.randrange(4096)))
                return {name: good[:-FOOTER] + length.to_bytes(4, "little") + good[-4:]}
            case 1:  # in what describes the file
                start = len(good) - FOOTER - int.from_bytes(good[-FOOTER:-4], "little")
                return {name: good[:start] + flipped(rng, good[start:-FOOTER]) + good[-FOOTER:]}
        return {name: rng.choice((broken, flipped, cut_off))(rng, good)}

    def read(files: Files, rng: random.Random) -> bool:
        storage = token_store.storage()
        storage.save(name, ContentFile(files[name]))
        try:
            table = token_store.read_tokens(run)
        except token_store.DamagedRecordError as refused:
            return said(refused)
        finally:
            storage.delete(name)
        check(table.schema == token_store.SCHEMA, "another schema")
        return True

    return Reader("token records", 7, make, read, writes=False)
