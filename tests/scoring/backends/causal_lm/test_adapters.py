"""Adapters as peft saves them, with tokens and embeddings of their own: scores are those of a plain computation by it."""

from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, TrainableTokensConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from scoring.backends.causal_lm.generator import TransformersGenerator
from scoring.backends.causal_lm.loading import quiet
from scoring.backends.opening import open_backend
from scoring.backends.tokenizers import source_of
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Message
from scoring.pairs import score_pairs
from tests.scoring.tiny_models import save_random

# What peft advises those who save an adapter
pytestmark = [
    pytest.mark.filterwarnings("ignore:Model has `tie_word_embeddings=True`"),
    pytest.mark.filterwarnings("ignore:Setting `save_embedding_layers` to `True`"),
]
N, PAD, MORE = (
    320,
    13,
    20,
)  # tokens of the tokenizer, rows of the base beyond them, rows that an adapter adds
TEXT, OTHER = "The <gene> cells gained weight.", "The <gene> cells lost weight."
TEMPLATE = "{% for m in messages %}{{ m.content }} <gene>{% endfor %}"
BOTH = ["embed_tokens", "lm_head"]
# How many rows an adapter's model has more than its base, and what it is
KINDS: dict[str, tuple[int, dict[str, Any]]] = {
    "layers alone": (0, {}),
    "layers, and embeddings made larger": (MORE, {}),
    "embeddings made smaller": (-PAD + 2, {"modules_to_save": ["lm_head"]}),
    "embeddings of its own": (0, {"modules_to_save": BOTH}),
    "embeddings of its own, larger": (MORE, {"modules_to_save": BOTH}),
    "a head that stays": (MORE, {"modules_to_save": ["embed_tokens"]}),
    "low ranks on embeddings, larger": (MORE, {"target_modules": ["q_proj", *BOTH]}),
    "single tokens": (0, {"trainable_token_indices": [N, N + 1]}),
    "single tokens, larger": (MORE, {"trainable_token_indices": [N, N + PAD + 1]}),
}


def make_base(folder: Path, *, tied: bool) -> Path:
    config = LlamaConfig(
        vocab_size=N + PAD, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=tied,
    )  # fmt: skip
    return save_random(folder, config)


def make_adapter(base: Path, folder: Path, config: Any, more: int) -> Any:
    """Saved with its tokenizer, which knows more tokens than the base's, and another template; the model in memory."""
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(3)
        model = LlamaForCausalLM.from_pretrained(base)
        if more:
            model.resize_token_embeddings(model.config.vocab_size + more)
        adapted = get_peft_model(model, config)
        for parameter in adapted.parameters():
            if parameter.requires_grad:
                torch.nn.init.normal_(parameter, std=0.3)
        adapted.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.add_tokens(["<gene>", "<drug>"])
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    return adapted.eval()


def lora(**settings: Any) -> LoraConfig:
    return LoraConfig(
        **({"r": 2, "target_modules": ["q_proj"], "task_type": "CAUSAL_LM"} | settings)
    )


def plain(model: Any, text: str, folder: Path) -> list[float]:
    """Log-probabilities of each token but the first, by transformers and peft alone."""
    ids = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt").input_ids
    with torch.inference_mode():
        logits = model(input_ids=ids, use_cache=False).logits.double()
    found = torch.log_softmax(logits[0, :-1], -1).gather(1, ids[0, 1:, None])
    return [float(value) for value in found[:, 0]]


def logprobs(pair: Any) -> list[float]:
    return [token.logprob for token in pair.original.tokens[1:]]


@pytest.fixture(scope="module", params=[False, True], ids=["untied", "tied"])
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_base(tmp_path_factory.mktemp("base"), tied=request.param)


@pytest.mark.parametrize("kind", KINDS)
def test_an_adapters_scores_are_those_of_peft(base: Path, tmp_path: Path, kind: str) -> None:
    more, settings = KINDS[kind]
    expected = plain(make_adapter(base, tmp_path, lora(**settings), more), TEXT, tmp_path)
    backend = open_backend("hf", {"pretrained": str(base), "peft": str(tmp_path), "device": "cpu"})
    (pair,) = score_pairs([(TEXT, OTHER)], backend, "none")
    assert logprobs(pair) == pytest.approx(expected, abs=1e-4)
    assert backend.identity()["adapter_sha256"]


def test_one_of_tokens_alone_is_loaded(base: Path, tmp_path: Path) -> None:
    config = TrainableTokensConfig(
        token_indices=[5, N], target_modules=["embed_tokens"], task_type="CAUSAL_LM"
    )
    expected = plain(make_adapter(base, tmp_path, config, 0), TEXT, tmp_path)
    backend = open_backend("hf", {"pretrained": str(base), "peft": str(tmp_path), "device": "cpu"})
    (pair,) = score_pairs([(TEXT, OTHER)], backend, "none")
    assert logprobs(pair) == pytest.approx(expected, abs=1e-4)


def test_rows_that_would_be_drawn_at_random_are_refused(tmp_path: Path) -> None:
    base = make_base(tmp_path / "base", tied=False)
    make_adapter(base, tmp_path / "own", lora(modules_to_save=["embed_tokens"]), MORE)
    file = tmp_path / "own" / "adapter_model.safetensors"
    kept = {name: tensor for name, tensor in load_file(file).items() if "lm_head" not in name}
    save_file(kept, file)
    with pytest.raises(ScoringError, match="lm_head does not contain rows for them"):
        open_backend("hf", {"pretrained": str(base), "peft": str(tmp_path / "own")})


def test_an_adapter_is_read_and_asked_with_the_tokenizer_beside_it(
    base: Path, tmp_path: Path
) -> None:
    make_adapter(base, tmp_path, lora(), 0)
    args = {"pretrained": str(base), "peft": str(tmp_path), "device": "cpu"}
    assert source_of(args) == (str(tmp_path), None)
    assert source_of(args | {"tokenizer": str(base)})[0] == str(base)
    generator = TransformersGenerator(args)
    assert generator.prompt_ids([Message("user", "cells")])[-1] == N


@pytest.mark.parametrize("part", ["tokenizer_config.json", "added_tokens.json", "tokenizer.model"])
def test_an_adapter_with_a_part_of_a_tokenizer_is_not_read_by_the_models(
    tmp_path: Path, part: str
) -> None:
    args = {"pretrained": "base", "peft": str(tmp_path)}
    assert source_of(args)[0] == "base"
    (tmp_path / part).write_text("{}")
    with pytest.raises(ScoringError, match=rf"has {part}, but no tokenizer\.json"):
        source_of(args)
    assert source_of(args | {"tokenizer": "named"})[0] == "named"
    beside = args | {"pretrained": str(tmp_path)}  # the weights: they have no other tokenizer
    assert source_of(beside)[0] == str(tmp_path)
