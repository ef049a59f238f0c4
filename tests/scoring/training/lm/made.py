"""Small corpora, tokenizers and trainings, as real as any but for their size."""

from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lib.files import sha256_of
from scoring.demo_lm.corpus import read_corpus, split
from scoring.training.corpus.document import Document
from scoring.training.corpus.manifest import (
    SHARD,
    BuiltCorpus,
    File,
    Manifest,
    open_corpus,
    write_manifest,
)
from scoring.training.lm.tokenizer import save_tokenizer, train_tokenizer
from scoring.training.settings import Lora, Mode, TrainingSettings, of_preset

SCHEMA = pa.schema([(field.name, pa.string()) for field in fields(Document)])
ADAPTER = Lora(rank=4, alpha=8, dropout=0.1, targets=("c_attn", "c_proj"))


def make_corpus(folder: Path, texts: list[str] | None = None, held_out: int = 2) -> BuiltCorpus:
    """The demonstration model's paragraphs, or these texts; the last `held_out` of them are held out."""
    texts = texts or [p.text for part in split(read_corpus()) for p in part]
    documents = [asdict(Document(f"file:{n}.txt", text)) for n, text in enumerate(texts)]
    parts = {"train": documents[:-held_out], "held_out": documents[-held_out:]}
    folder.mkdir(parents=True)
    files = {}
    for part, some in parts.items():
        name = SHARD.format(part=part, number=0)
        pq.write_table(pa.Table.from_pylist(some, SCHEMA), folder / name)
        files[name] = File(sha256_of(folder / name), (folder / name).stat().st_size, len(some))
    manifest = Manifest(folder.name, 1, 0.1, "2026-01-01T00:00:00+00:00", "none", files=files)
    write_manifest(folder, manifest)
    return open_corpus(folder)


def make_tokenizer_folder(corpus: BuiltCorpus, folder: Path, vocabulary: int = 400) -> Path:
    save_tokenizer(train_tokenizer(corpus.texts("train"), vocabulary), folder)
    return folder


def small(mode: Mode = "scratch", **changes: Any) -> TrainingSettings:
    """A training of seconds."""
    values: dict[str, Any] = {
        "context": 32,
        "epochs": 1,
        "limit": 4,
        "lora": ADAPTER,
        "evaluations": 2,
    }
    settings = of_preset("tiny", mode, **(values | changes))
    shape = settings.shape and replace(settings.shape, layers=1, heads=2, width=16)
    return replace(settings, shape=shape)
