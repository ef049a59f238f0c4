import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from scoring.backends.tokenizers import load_tokenizer
from scoring.training.lm.models import Start, scratch_config, tokenizer_of
from scoring.training.lm.tokenizer import save_tokenizer, train_tokenizer
from scoring.training.settings import TrainingError
from tests.scoring.training.lm.made import small

TEXTS = ["The hippocampus binds what the cortex keeps.", "Neurons fire; memory follows."] * 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_tokenizer(train_tokenizer(TEXTS, 300), tmp_path / "own")
    return tmp_path / "own"


def test_the_models_special_tokens_are_the_tokenizers(folder: Path) -> None:
    tokenizer = tokenizer_of(small(), Start(tokenizer=folder))
    config = scratch_config(small(), None, tokenizer)
    assert config.bos_token_id == config.eos_token_id == tokenizer.eos_token_id == 0
    assert tokenizer.convert_ids_to_tokens(0) == "<|endoftext|>"
    assert config.vocab_size == len(tokenizer) == 300


def test_a_described_model_takes_the_tokenizers_special_tokens_too(
    folder: Path, tmp_path: Path
) -> None:
    described = {"model_type": "llama", "hidden_size": 32, "eos_token_id": 2, "vocab_size": 9}
    (tmp_path / "config.json").write_text(json.dumps(described))
    tokenizer = tokenizer_of(small(), Start(tokenizer=folder))
    config = scratch_config(small(), tmp_path / "config.json", tokenizer)
    assert (config.model_type, config.vocab_size, config.eos_token_id) == ("llama", 300, 0)


def test_any_text_comes_back_from_its_tokens_behind_a_start_token(folder: Path) -> None:
    tokenizer = load_tokenizer(str(folder))
    text = "Größe: 5 µm → «naïve» 神経\n"
    ids = tokenizer(text).input_ids
    assert ids[0] == tokenizer.bos_token_id
    assert tokenizer.decode(ids, skip_special_tokens=True) == text


def test_texts_joined_without_an_end_are_not_scored_behind_a_token_never_seen(folder: Path) -> None:
    joined = tokenizer_of(small(packing="joined"), Start(tokenizer=folder))
    assert 0 not in joined("The cortex").input_ids


def test_the_same_texts_make_the_same_tokenizer(folder: Path) -> None:
    again: Tokenizer = train_tokenizer(TEXTS, 300)
    assert (folder / "tokenizer.json").read_text() == again.to_str(pretty=True)


def test_a_vocabulary_without_room_for_the_bytes_is_refused() -> None:
    with pytest.raises(TrainingError, match="257 tokens or more"):
        train_tokenizer(TEXTS, 256)
