"""Servers that take strings alone, as llama.cpp's family: scored right behind a start token, refused without one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers.processors import TemplateProcessing

from benchmarks.completions.models import END, make_tokenizer, tiny_gpt2, torch_lm
from benchmarks.completions.stub import MODEL, CompletionsStub
from scoring.backends.completions.backend import CompletionsBackend
from scoring.backends.completions.probe import SENTENCES
from scoring.backends.tokenizers import load_tokenizer
from scoring.domain.backend import ScoringError, TextError, TokenText
from tests.scoring.backends.completions.test_backend import in_float64

TEXTS = (
    "Water boils when the old violin falls.",
    "Nobody remembered the signals — and “cells” turn at 42 °C!",
    f"You walk. {SENTENCES[3]}",
)


@pytest.fixture(scope="module")
def starting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer with a start token; without one, that of all other tests."""
    return make_tokenizer(tmp_path_factory.mktemp("start"), list(SENTENCES), starts=True)


@pytest.fixture
def server(stub: CompletionsStub, starting: Path) -> CompletionsStub:
    stub.form, stub.tokenizer, stub.start = "llama.cpp", load_tokenizer(str(starting)), 0
    return stub


def open_backend(stub: CompletionsStub, folder: Path) -> CompletionsBackend:
    args = {"base_url": stub.url, "model": MODEL, "tokenizer": str(folder)}
    return CompletionsBackend(args | {"timeout": "5", "retry_seconds": "600"})


def as_tokens(tokenizer: Any, text: str) -> TokenText:
    return TokenText(text, np.array(tokenizer(text)["input_ids"], np.int64))


def refusal(server: CompletionsStub, folder: Path, fault: str = "") -> str:
    backend = open_backend(server, folder)
    server.fault = fault
    with pytest.raises(ScoringError) as raised:
        backend.prepare([])
    sentence = str(raised.value)
    assert sentence.endswith(".")
    assert sentence.isprintable()
    return sentence.removeprefix(f"The server at {server.url} ")


@pytest.mark.parametrize("spread", [0.02, 0.3])
def test_behind_a_start_token_numbers_are_those_of_the_model_in_float64(
    server: CompletionsStub, starting: Path, spread: float
) -> None:
    server.lm = torch_lm(tiny_gpt2(len(server.tokenizer), spread=spread))
    model = tiny_gpt2(len(server.tokenizer), spread=spread)
    texts = [as_tokens(server.tokenizer, text) for text in TEXTS]
    backend = open_backend(server, starting)
    backend.prepare([texts])
    assert backend.remarks == []
    (results,) = backend.score([texts])
    for text, result in zip(texts, results, strict=True):
        assert isinstance(result, np.ndarray)
        np.testing.assert_allclose(result, in_float64(model, text.ids), rtol=0, atol=1e-5)


def test_an_end_token_that_the_tokenizer_adds_is_left_out(
    server: CompletionsStub, starting: Path, tmp_path: Path
) -> None:
    ending = load_tokenizer(str(starting))
    ending.backend_tokenizer.post_processor = TemplateProcessing(
        single=f"{END} $A {END}", special_tokens=[(END, 0)]
    )
    ending.save_pretrained(tmp_path)
    text = as_tokens(server.tokenizer, TEXTS[0])
    backends = [open_backend(server, folder) for folder in (starting, tmp_path)]
    for backend in backends:
        backend.prepare([[text]])
    one, other = (backend.score([[text]])[0][0] for backend in backends)
    np.testing.assert_array_equal(one, other)


def test_it_is_asked_in_the_form_that_it_takes(server: CompletionsStub, starting: Path) -> None:
    backend = open_backend(server, starting)
    backend.prepare([])
    server.requests.clear()
    backend.score([[as_tokens(server.tokenizer, TEXTS[0])]] * 2)
    constant = {"model": MODEL, "max_tokens": 1, "temperature": 0, "logprobs": 1}
    echo = constant | {"prompt": TEXTS[0], "echo": True}
    # Sentences of the probe begin with the same token: its number is known
    assert server.requests == [echo, echo]
    assert backend.identity()["request"]["prompt"].startswith("text;")


@pytest.mark.parametrize("start", [None, 0])
def test_without_a_start_token_it_is_refused_at_once(
    server: CompletionsStub, tmp_path: Path, start: int | None
) -> None:
    folder = make_tokenizer(tmp_path, list(SENTENCES))
    server.start = start
    assert refusal(server, folder) == (
        "takes no token ids, and gives the tokens of a text right numbers only behind a start token (BOS), which the "
        "tokenizer given does not put there."
    )
    assert len(server.requests) <= 4


def test_a_server_that_leaves_out_the_start_token_is_refused(
    server: CompletionsStub, starting: Path
) -> None:
    server.start = None
    assert "without one, its numbers stand one token early" in refusal(server, starting)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("says no usage", "does not say in usage.prompt_tokens how many tokens it makes"),
        ("forces nothing", "generated '?' where logit_bias forced token"),
        ("numbers late", "entry i of token_logprobs must be the log-probability of token i"),
        ("generated numbers of another scale", "and the same token, scored by echo in its place"),
        ("other tokens", "becomes other tokens at the server: 'x' where the tokenizer given has"),
    ],
)
def test_a_server_that_is_not_right_is_refused_with_what_it_did(
    server: CompletionsStub, starting: Path, fault: str, words: str
) -> None:
    assert words in refusal(server, starting, fault)


def test_a_text_of_which_the_server_makes_other_tokens_is_named(
    server: CompletionsStub, starting: Path
) -> None:
    backend = open_backend(server, starting)
    backend.prepare([])
    text = as_tokens(server.tokenizer, TEXTS[0])
    cut = TokenText("cut", np.array([0, *server.tokenizer.convert_tokens_to_ids(list("Ġthe"))]))
    ((right, wrong),) = backend.score([[text, cut]])
    assert isinstance(right, np.ndarray)
    assert isinstance(wrong, TextError)
    assert "does not come back from its tokens as it was" in str(wrong)
