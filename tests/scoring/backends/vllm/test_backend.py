"""The backend for vLLM in the process, in front of a stand-in of vLLM's documented shape."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.completions.models import make_tokenizer, tiny_gpt2, tiny_markov, torch_lm
from scoring.backends.completions.probe import SENTENCES
from scoring.backends.opening import check_model_args, open_backend
from scoring.backends.tokenizers import load_tokenizer, tokenizer_hash
from scoring.backends.vllm import VllmBackend
from scoring.domain.backend import ScoringError, TextError
from tests.scoring.backends.completions.test_backend import in_float64, some_texts
from tests.scoring.backends.vllm import stand_in

Install = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder: weights in safetensors, and its tokenizer."""
    folder = tmp_path_factory.mktemp("model")
    make_tokenizer(folder, list(SENTENCES))
    tiny_gpt2(len(load_tokenizer(str(folder)))).save_pretrained(folder)
    return folder


@pytest.fixture
def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a stand-in in vLLM's place."""
    tokenizer = load_tokenizer(str(folder))

    def install(lm: Any = None, fault: str = "") -> Any:
        module = stand_in.module(lm or tiny_markov(len(tokenizer)), tokenizer, fault)
        monkeypatch.setitem(sys.modules, "vllm", module)
        return module

    return install


def test_numbers_are_those_of_the_model_in_float64(install: Install, folder: Path) -> None:
    model = tiny_gpt2(len(load_tokenizer(str(folder))), spread=0.3)
    install(torch_lm(model))
    texts = some_texts([1, 2, 40, 171])
    backend = VllmBackend({"pretrained": str(folder)})
    backend.prepare([texts])
    assert backend.remarks == []
    (results,) = backend.score([texts])
    for text, result in zip(texts, results, strict=True):
        assert isinstance(result, np.ndarray)
        np.testing.assert_allclose(result, in_float64(model.float(), text.ids), rtol=0, atol=1e-5)
        model.float()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("numbers one place early", "entry i of token_logprobs must be the log-probability"),
        ("logits", "which is impossible"),
        ("echo ignored", "returned log-probabilities for 1 tokens instead of 20 of the prompt"),
        ("no null first", "the first without a number"),
        ("other ids", "scored other token IDs than it received"),
    ],
)
def test_an_engine_whose_numbers_are_not_those_of_its_tokens_is_refused(
    install: Install, folder: Path, fault: str, words: str
) -> None:
    install(fault=fault)
    with pytest.raises(ScoringError) as raised:
        VllmBackend({"pretrained": str(folder)}).prepare([])
    assert str(raised.value).startswith("vLLM ")
    assert words in str(raised.value)


def test_a_text_that_does_not_fit_is_named_and_not_asked_for(
    install: Install, folder: Path
) -> None:
    module = install()
    backend = VllmBackend({"pretrained": str(folder), "max_model_len": "100"})
    (texts,) = [some_texts([100, 99, 0])]
    ((long, right, empty),) = backend.score([texts])
    assert str(long) == "has 100 tokens, but the model accepts 99"
    assert isinstance(right, np.ndarray)
    assert isinstance(empty, TextError)
    assert module.made[0].asked == [texts[1].ids.tolist()]


def test_the_engine_is_made_with_what_was_asked_for_and_known_by_it(
    install: Install, folder: Path
) -> None:
    module = install()
    args = {"pretrained": str(folder), "dtype": "float32", "tensor_parallel_size": "2"}
    backend = open_backend("vllm", args)
    assert module.made[0].args == {
        "model": str(folder),
        "dtype": "float32",
        "tensor_parallel_size": 2,
        "enable_prefix_caching": False,
        "load_format": "safetensors",
        "trust_remote_code": False,
        "seed": 0,
    }
    identity = backend.identity()
    assert (identity["dtype"], identity["tensor_parallel_size"]) == ("float32", 2)
    assert identity["libraries"]["vllm"] == "0.0.stand-in"
    assert identity["tokenizer_sha256"] == tokenizer_hash(backend.tokenizer)
    assert len(identity["weights_sha256"]) == 64
    backend.close()
    backend.close()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({}, "needs pretrained="),
        ({"pretrained": "x", "device": "cuda"}, "device is not known. vLLM accepts pretrained"),
        ({"pretrained": "x", "tensor_parallel_size": "two"}, "=two: expected a whole number"),
    ],
)
def test_arguments_that_cannot_be_used_are_named(args: dict[str, str], words: str) -> None:
    with pytest.raises(ScoringError) as raised:
        check_model_args("vllm", args)
    assert words in str(raised.value)
