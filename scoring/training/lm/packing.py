"""Turns a corpus into one long line of token ids on disk, and cuts it into rows. Knows no model.

The ids lie beside the corpus, by hash of what decides them; rows are cut when they are read, for any context. A last
row that is not full is left out of training, and kept for the held-out loss.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.utils.data import Dataset

from scoring.backends.tokenizers import tokenizer_hash
from scoring.training.corpus.manifest import BuiltCorpus, Part
from scoring.training.lm.tokenizer import staged_folder
from scoring.training.settings import Packing, TrainingError

FOLDER = "tokens"
FACTS = "facts.json"
DOCUMENTS_AT_A_TIME = 256
IGNORED = -100  # a label that no loss counts: torch's own


@dataclass(frozen=True, slots=True)
class Line:
    """One part of a corpus as token ids, in a file that is not read into memory."""

    file: Path
    dtype: str
    documents: int
    tokens: int

    def ids(self) -> npt.NDArray[Any]:
        if not self.tokens:
            return np.zeros(0, self.dtype)
        return np.memmap(self.file, self.dtype, mode="r", shape=(self.tokens,))


class Rows(Dataset[dict[str, Tensor]]):
    """A line cut into rows of `context` tokens; the remainder is a short row where `keep_remainder` says so."""

    def __init__(self, line: Line, context: int, *, keep_remainder: bool) -> None:
        self.ids, self.context = line.ids(), context
        whole, self.remainder = divmod(line.tokens, context)
        # A single token foretells nothing
        self.rows = whole + (keep_remainder and self.remainder > 1)

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, row: int) -> dict[str, Tensor]:
        ids = self.ids[row * self.context : (row + 1) * self.context].astype(np.int64)
        missing = self.context - len(ids)
        return {
            "input_ids": torch.from_numpy(np.pad(ids, (0, missing))),
            "labels": torch.from_numpy(np.pad(ids, (0, missing), constant_values=IGNORED)),
        }


def stack(rows: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {name: torch.stack([row[name] for row in rows]) for name in rows[0]}  # (B, T)


@dataclass(frozen=True, slots=True)
class Packed:
    train: Line
    held_out: Line


def pack(
    corpus: BuiltCorpus,
    tokenizer: Any,
    packing: Packing,
    limit: int | None = None,
    check: Callable[[], None] = lambda: None,
) -> Packed:
    """The corpus in this tokenizer's ids, made once. `limit`: documents of the training part.

    Separated, each document is followed by the tokenizer's end token; joined, the next one follows at once.

    Raises:
        TrainingError: the tokenizer has no end token to put between documents.
    """
    end = tokenizer.eos_token_id
    if packing == "separated" and end is None:
        raise TrainingError(
            "The tokenizer does not have an end token to separate documents. Choose packing joined, or another tokenizer."
        )
    made_of = [corpus.sha256, tokenizer_hash(tokenizer), end, packing, limit]
    key = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:32]
    folder = corpus.folder / FOLDER / key
    if not (folder / FACTS).is_file():
        rules = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        rules.no_truncation()
        rules.no_padding()
        rules.encode_special_tokens = True  # a text that spells one does not get it
        ending = [end] if packing == "separated" else []
        dtype = "uint16" if len(tokenizer) <= 2**16 else "uint32"
        parts: dict[Part, int | None] = {"train": limit, "held_out": None}
        with staged_folder(folder) as part:
            facts = {}
            for name, most in parts.items():
                texts = islice(corpus.texts(name), most)
                documents = tokens = 0
                with (part / f"{name}.bin").open("wb") as file:
                    while some := list(islice(texts, DOCUMENTS_AT_A_TIME)):
                        check()
                        for encoding in rules.encode_batch_fast(some, add_special_tokens=False):
                            ids = np.array(encoding.ids + ending, dtype)
                            file.write(ids.tobytes())
                            documents, tokens = documents + 1, tokens + len(ids)
                facts[name] = {"dtype": dtype, "documents": documents, "tokens": tokens}
            (part / FACTS).write_text(json.dumps(facts), encoding="utf-8")
    facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    return Packed(
        Line(folder / "train.bin", **facts["train"]),
        Line(folder / "held_out.bin", **facts["held_out"]),
    )


def rows_of(packed: Packed, context: int) -> tuple[Rows, Rows]:
    """Rows to train on, and held-out rows.

    Raises:
        TrainingError: the held-out part has no token to foretell.
    """
    held_out = Rows(packed.held_out, context, keep_remainder=True)
    if not len(held_out):
        raise TrainingError(
            "The corpus does not contain held-out text for measuring the loss. Build it with a larger --holdout."
        )
    return Rows(packed.train, context, keep_remainder=False), held_out
