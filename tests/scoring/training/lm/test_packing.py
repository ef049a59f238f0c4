"""A tokenizer of a corpus, and the corpus in its ids."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scoring.backends.tokenizers import load_tokenizer
from scoring.training.corpus.manifest import BuiltCorpus
from scoring.training.lm.models import Start, scratch_config, tokenizer_of
from scoring.training.lm.packing import FOLDER, IGNORED, pack, rows_of
from scoring.training.lm.tokenizer import save_tokenizer, train_tokenizer
from scoring.training.settings import Packing
from tests.scoring.training.lm.made import make_corpus, make_tokenizer_folder, small

SENTENCES = ["The hippocampus binds what the cortex keeps.", "Neurons fire; memory follows."] * 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_tokenizer(train_tokenizer(SENTENCES, 300), tmp_path / "own")
    return tmp_path / "own"


def test_the_models_special_tokens_are_the_tokenizers(folder: Path) -> None:
    tokenizer = tokenizer_of(small(), Start(tokenizer=folder))
    config = scratch_config(small(), None, tokenizer)
    assert config.bos_token_id == config.eos_token_id == tokenizer.eos_token_id == 0
    assert tokenizer.convert_ids_to_tokens(0) == "<|endoftext|>"
    assert config.vocab_size == len(tokenizer) == 300


TEXTS = [f"Study {n} finds that sleep helps." for n in range(10)] + ["Held <|endoftext|> out."]


@pytest.fixture
def corpus(tmp_path: Path) -> BuiltCorpus:
    return make_corpus(tmp_path / "corpus", TEXTS, held_out=1)


@pytest.fixture
def tokenizer(corpus: BuiltCorpus, tmp_path: Path) -> Any:
    return load_tokenizer(str(make_tokenizer_folder(corpus, tmp_path / "own", 280)))


@pytest.mark.parametrize("packing", ["separated", "joined"])
def test_documents_follow_each_other_with_or_without_an_end_token(
    corpus: BuiltCorpus, tokenizer: Any, packing: Packing
) -> None:
    line = pack(corpus, tokenizer, packing).train
    end = "<|endoftext|>" if packing == "separated" else ""
    assert tokenizer.decode(line.ids()) == "".join(text + end for text in TEXTS[:10])
    assert (line.documents, line.tokens) == (10, len(line.ids()))


def test_a_text_that_spells_the_end_token_does_not_get_it(
    corpus: BuiltCorpus, tokenizer: Any
) -> None:
    ids = pack(corpus, tokenizer, "separated").held_out.ids()
    assert np.flatnonzero(ids == tokenizer.eos_token_id).tolist() == [len(ids) - 1]


def test_a_last_row_is_left_out_of_training_and_kept_for_the_held_out_loss(
    corpus: BuiltCorpus, tokenizer: Any
) -> None:
    packed = pack(corpus, tokenizer, "separated")
    rows, held_out = rows_of(packed, context=48)
    assert len(rows) * 48 + rows.remainder == packed.train.tokens
    assert rows.remainder > 0
    ids = np.concatenate([rows[n]["input_ids"] for n in range(len(rows))])
    assert (ids == packed.train.ids()[: len(ids)]).all()
    last = held_out[len(held_out) - 1]
    assert int((last["labels"] != IGNORED).sum()) == packed.held_out.tokens % 48


def test_tokens_are_made_once_and_lie_on_disk(corpus: BuiltCorpus, tokenizer: Any) -> None:
    first = pack(corpus, tokenizer, "separated")
    written = first.train.file.stat().st_mtime_ns
    again = pack(corpus, tokenizer, "separated")
    assert again == first
    assert again.train.file.stat().st_mtime_ns == written
    assert isinstance(again.train.ids(), np.memmap)
    assert pack(corpus, tokenizer, "separated", limit=3).train.documents == 3
    assert len(list((corpus.folder / FOLDER).iterdir())) == 2
