"""A tokenizer that is not the model's is warned about; a model that knows nothing is not held against its own."""

from pathlib import Path

import numpy as np
import pytest
from transformers import GPT2Config

from scoring.backends.causal_lm.backend import TransformersBackend
from scoring.demo_lm import MODEL_FOLDER
from scoring.domain.backend import TokenText
from tests.scoring.tiny_models import save_random
from tests.scoring.tokenizers_made import save_shuffled_demo

TEXT = "Rats slept for two hours after training, and their place cells fired again."


def warnings_of(model: Path, tokenizer: Path | None = None) -> list[str]:
    args = {"pretrained": str(model), "device": "cpu"}
    backend = TransformersBackend(args | ({"tokenizer": str(tokenizer)} if tokenizer else {}))
    ids = np.arange(3, 40)
    backend.prepare([[TokenText("text", ids), TokenText("text", ids + 1)]])
    return backend.identity().get("warnings", [])


@pytest.fixture(scope="module")
def shuffled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_shuffled_demo(tmp_path_factory.mktemp("shuffled"))


def test_the_models_own_tokenizer_is_not_warned_about_named_or_not() -> None:
    assert warnings_of(MODEL_FOLDER) == []
    assert warnings_of(MODEL_FOLDER, MODEL_FOLDER) == []


def test_a_tokenizer_with_more_tokens_than_the_model_knows_is(shared_dir: Path) -> None:
    (sentence,) = warnings_of(MODEL_FOLDER, shared_dir / "tokenizers" / "gpt2")
    assert "beyond the 3072 that the model knows" in sentence


def test_a_tokenizer_of_as_many_tokens_that_mean_others_is(shuffled: Path) -> None:
    (sentence,) = warnings_of(MODEL_FOLDER, shuffled)
    assert "with its own it does not" in sentence


def test_without_the_models_own_to_compare_with_it_is_too(tmp_path: Path, shuffled: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((MODEL_FOLDER / name).read_bytes())
    (sentence,) = warnings_of(tmp_path, shuffled)
    assert "or the model untrained" in sentence
    assert warnings_of(tmp_path, MODEL_FOLDER) == []


def test_a_model_with_random_weights_gives_no_false_alarm(tmp_path: Path) -> None:
    """It reads every tokenizer at chance, its own as well: another one is no worse."""
    model = save_random(
        tmp_path / "model", GPT2Config(vocab_size=3072, n_embd=32, n_layer=2, n_head=2)
    )
    assert warnings_of(model, MODEL_FOLDER) == []
    assert warnings_of(model) == []
