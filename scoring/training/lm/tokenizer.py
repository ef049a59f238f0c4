"""Trains a tokenizer on a corpus: byte-level BPE in GPT-2's manner; writes folders whole or not at all. Knows no model."""

import errno
import json
import math
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from scoring.training.settings import TrainingError

_SYSTEM_ERROR = re.compile(r"os error (\d+)")


def part_of(folder: Path) -> Path:
    """Where the files of a folder lie until it is whole."""
    return folder.with_name(f".{folder.name}.part")


@contextmanager
def staged_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to fill, which takes its place when the block ends without an error; what stood there goes.

    Raises:
        OSError: the disk does not take it; nothing of it remains.
    """
    part = part_of(folder)
    remove(part)
    try:
        part.mkdir(parents=True)
        with system_errors(folder):
            yield part
        put_in_place(part, folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def put_in_place(part: Path, folder: Path) -> None:
    """Bring a filled folder to disk, then to its name."""
    for path in sorted(part.rglob("*")):
        _sync(path)
    _sync(part)
    remove(folder)
    part.rename(folder)
    _sync(folder.parent)


def remove(folder: Path) -> None:
    """Take a folder away in one step: a part of it is never taken for the whole."""
    if folder.exists():
        gone = folder.with_name(f".{folder.name.lstrip('.')}.gone")
        shutil.rmtree(gone, ignore_errors=True)
        folder.rename(gone)
        shutil.rmtree(gone)


@contextmanager
def system_errors(path: Path) -> Iterator[None]:
    """Turns the words of safetensors about a full disk into Python's."""
    try:
        yield
    except SafetensorError as error:
        found = _SYSTEM_ERROR.search(str(error))
        if found is None:
            raise
        number = int(found[1]) or errno.EIO
        raise OSError(number, os.strerror(number), str(path)) from error


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


# Begins every text and ends every document; the first of the ids, which models made with it are told
END, END_ID = "<|endoftext|>", 0
BYTES = 256


def train_tokenizer(texts: Iterable[str], vocabulary: int) -> Tokenizer:
    """Learn at most `vocabulary` tokens: the end token, the 256 bytes, and what is most often joined.

    Raises:
        TrainingError: the vocabulary is too small for the bytes.
    """
    if vocabulary <= BYTES:
        raise TrainingError(
            f"A vocabulary needs {BYTES} bytes and an end token, so at least {BYTES + 1} tokens."
        )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{END} $A", special_tokens=[(END, END_ID)]
    )
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write the folder that transformers reads a fast tokenizer from, whole or not at all."""
    with staged_folder(folder) as part:
        write_tokenizer(tokenizer, part)


def write_tokenizer(tokenizer: Tokenizer, folder: Path, **more: int) -> None:
    """The two files that transformers reads a fast tokenizer from; `more`: of its configuration."""
    tokenizer.save(str(folder / "tokenizer.json"), pretty=True)
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **dict.fromkeys(("bos_token", "eos_token", "pad_token"), END),
        **more,
        "clean_up_tokenization_spaces": False,
    }
    text = json.dumps(config, indent=2) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")


def bytes_per_token(tokenizer: Tokenizer, texts: Iterable[str]) -> float:
    """How many bytes of these texts a token stands for, on average; more is shorter texts for a model."""
    size = tokens = 0
    for text in texts:
        size += len(text.encode())
        tokens += len(tokenizer.encode(text, add_special_tokens=False).ids)
    return size / tokens if tokens else math.nan
