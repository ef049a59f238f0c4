"""Vectors of tokens in context, from folders of real, if tiny, models."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, BertConfig, BertModel

from scoring.backends.causal_lm.loading import quiet
from scoring.backends.token_vectors import TokenVectors
from scoring.domain.backend import ScoringError
from tests.scoring.ngram_backend import make_tokenizer
from tests.scoring.tiny_models import save_gpt2

TEXT = "The sample was large."
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_gpt2(tmp_path_factory.mktemp("gpt2"))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder whose tokenizer puts marks around a text."""
    from tokenizers.processors import TemplateProcessing

    folder, tokenizer = tmp_path_factory.mktemp("bert"), make_tokenizer()
    tokenizer.add_special_tokens({"cls_token": "[CLS]", "sep_token": "[SEP]"})
    marks = [(mark, tokenizer.convert_tokens_to_ids(mark)) for mark in ("[CLS]", "[SEP]")]
    tokenizer._tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", None, marks)
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(0)
        BertModel(
            BertConfig(vocab_size=len(tokenizer), max_position_embeddings=64, **SIZES)
        ).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("layer", [0, 1, None])
def test_vectors_are_the_models_hidden_states(gpt2: Path, layer: int | None) -> None:
    (found,) = TokenVectors(gpt2, layer).of([TEXT])
    ids = torch.tensor([make_tokenizer()(TEXT)["input_ids"]])
    with quiet(), torch.inference_mode():
        states = AutoModel.from_pretrained(gpt2)(ids, output_hidden_states=True).hidden_states
    np.testing.assert_allclose(found, states[-1 if layer is None else layer][0].numpy(), atol=1e-6)


def test_marks_around_a_text_have_no_vector(bert: Path) -> None:
    whole, empty = TokenVectors(bert).of([TEXT, ""])
    assert whole.shape == (len(make_tokenizer()(TEXT)["input_ids"]), 16)
    assert len(empty) == 0


def test_a_long_text_is_cut_to_the_models_window(bert: Path) -> None:
    (found,) = TokenVectors(bert).of([TEXT * 100])
    assert len(found) == 64 - 2


def test_folders_without_a_whole_model_are_refused(gpt2: Path, tmp_path: Path) -> None:
    with pytest.raises(ScoringError):
        TokenVectors(tmp_path / "none")
    with pytest.raises(ScoringError):
        TokenVectors(tmp_path)
    with pytest.raises(ScoringError):
        TokenVectors(gpt2, 3)
    part = save_gpt2(tmp_path / "part")
    weights = load_file(part / "model.safetensors")
    del weights[next(name for name in weights if "mlp" in name)]
    save_file(weights, part / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ScoringError, match="missing"):
        TokenVectors(part)
