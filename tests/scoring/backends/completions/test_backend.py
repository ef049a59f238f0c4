"""The completions backend at work: right numbers, in order, for the right texts, from the right model."""

import math

import numpy as np
import pytest

from benchmarks.completions.models import tiny_gpt2, torch_lm
from benchmarks.completions.stub import MODEL
from scoring.backends.completions.probe import SENTENCES
from scoring.backends.tokenizers import tokenizer_hash
from scoring.domain.backend import ScoringError, TextError, TokenText
from tests.scoring.backends.completions.conftest import opened

TEXTS = (
    "Water boils when the old violin falls.",
    "Nobody remembered the signals — and “cells” turn at 42 °C!",
    f"You walk. {SENTENCES[3]}",
)


def as_tokens(tokenizer, text: str) -> TokenText:
    return TokenText(text, np.array(tokenizer(text)["input_ids"], np.int64))


def some_texts(lengths: list[int], seed: int = 0) -> list[TokenText]:
    rng = np.random.default_rng(seed)
    return [TokenText(f"text {n}", rng.integers(1, 300, n)) for n in lengths]


def in_float64(model, ids: np.ndarray) -> np.ndarray:
    """Log-probabilities of the tokens by the plain definition, all in float64."""
    import torch

    with torch.no_grad():
        logits = model.double()(torch.tensor(ids[None])).logits[0].numpy()  # (T, V)
    scored = zip(logits, ids[1:], strict=False)
    return np.array([math.nan, *(row[token] - np.log(np.exp(row).sum()) for row, token in scored)])


@pytest.mark.parametrize("spread", [0.02, 0.3])
@pytest.mark.parametrize("form", ["token IDs", "strings"])
def test_numbers_are_those_of_the_model_in_float64(stub, folder, starting, request, form, spread):
    if form == "strings":
        stub, folder = request.getfixturevalue("of_strings"), starting
        texts = [as_tokens(stub.tokenizer, text) for text in TEXTS]
    else:
        texts = some_texts([1, 2, 40, 171])
    stub.lm = torch_lm(tiny_gpt2(len(stub.tokenizer), spread=spread))
    model = tiny_gpt2(len(stub.tokenizer), spread=spread)
    backend = opened(stub, folder)
    backend.prepare([texts])
    assert backend.remarks == []
    (results,) = backend.score([texts])
    for text, result in zip(texts, results, strict=True):
        assert result.shape == text.ids.shape
        assert result.dtype == np.float64
        np.testing.assert_allclose(result, in_float64(model, text.ids), rtol=0, atol=1e-5)


def test_results_come_in_the_order_of_the_texts_whichever_answer_is_first(stub, folder):
    groups = [some_texts([n, n + 1], seed=n) for n in range(2, 40, 2)]
    backend = opened(stub, folder, concurrency="8")
    results = backend.score(groups)
    for group, group_results in zip(groups, results, strict=True):
        for text, result in zip(group, group_results, strict=True):
            rows = stub.lm(text.ids.tolist())
            right = [rows[i, token] for i, token in enumerate(text.ids[1:])]
            np.testing.assert_array_equal(result, [math.nan, *right])


def test_no_more_requests_than_asked_for_are_under_way_at_once(stub, folder):
    stub.delay_s = 0.01
    backend = opened(stub, folder, concurrency="3")
    backend.score([some_texts([5] * 12)])
    assert stub.most_at_once == 3


def test_a_request_asks_for_what_the_engines_know(stub, folder):
    (text,) = some_texts([7])
    opened(stub, folder).score([[text]])
    (request,) = stub.requests
    assert request == {
        "model": MODEL,
        "prompt": text.ids.tolist(),
        "max_tokens": 1,
        "temperature": 0,
        "echo": True,
        "logprobs": 1,
        "return_token_ids": True,
        "return_tokens_as_token_ids": True,
    }


class TestOneTextThatCannotBeScored:
    """It is named, and the rest goes on."""

    @pytest.mark.parametrize(
        ("fault", "words"),
        [
            ("nan", "got NaN for a log-probability at token 4 of 9"),
            ("null inside", "got no log-probability (null, as some servers write NaN) at token 4"),
            (
                "minus infinity",
                "got the probability 0 (a log-probability of -9999) at token 4 of 9",
            ),
            ("logits", "which is impossible at token 2 of 9"),
            (
                "too long",
                "has 9 tokens, more than the server accepts (This model's maximum context",
            ),
            ("500", "causes an error of the server, which answers other texts: The server at"),
        ],
    )
    def test_is_named(self, stub, folder, fault, words):
        stub.fault, stub.fault_lengths = fault, lambda n: n == 9
        backend = opened(stub, folder, retry_seconds="2")
        ((before, faulty, after),) = backend.score([some_texts([8, 9, 10])])
        assert isinstance(faulty, TextError)
        assert words in str(faulty)
        assert isinstance(before, np.ndarray)
        assert isinstance(after, np.ndarray)

    def test_beyond_the_window_is_not_even_sent(self, stub, folder):
        stub.max_model_len = 100
        backend = opened(stub, folder)
        assert backend.context_tokens == 99
        ((result, fitting),) = backend.score([some_texts([100, 99])])
        assert str(result) == "has 100 tokens, but the model accepts 99"
        assert isinstance(fitting, np.ndarray)
        assert len(stub.prompts) == 1


def test_a_log_probability_a_hair_above_nought_is_nought(stub, folder):
    stub.fault = "rounded up"
    ((result,),) = opened(stub, folder).score([some_texts([4])])
    np.testing.assert_array_equal(result, [math.nan, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("500", "answered 500 (engine [31mdied)"),
        ("cuts long prompts", "9 tokens instead of 30 of the prompt"),
    ],
)
def test_a_server_that_breaks_during_a_run_ends_it_and_what_waits_is_called_off(
    stub, folder, fault, words
):
    backend = opened(stub, folder, concurrency="2", retry_seconds="3")
    backend.prepare([])
    stub.prompts.clear()
    stub.fault = fault
    with pytest.raises(ScoringError) as raised:
        backend.score([some_texts([30] * 200)])
    assert words in str(raised.value)
    assert len(stub.prompts) < 50
    stub.fault, stub.fault_times = "drops", 1
    backend.score([some_texts([30])])  # the same backend goes on once the server is back


def test_the_plan_holds_every_group_once_and_in_order(stub, folder):
    backend = opened(stub, folder)
    groups = [some_texts([n, n]) for n in (10, 20, 30, 400, 5, 5)]
    plan = backend.plan(groups, 100)
    assert plan == [[0, 1], [2], [3], [4, 5]]
    assert plan == backend.plan(groups, 100)
    assert backend.plan([], 100) == []


def test_its_identity_names_model_server_tokenizer_and_request(stub, folder):
    backend = opened(stub, folder)
    identity = backend.identity()
    assert identity["base_url"] == f"{stub.url}/v1"
    assert identity["model"] == MODEL
    served = identity["served"]
    assert (served["id"], served["root"]) == (MODEL, "lab/tiny-model")
    assert (served["max_model_len"], served["version"]) == (512, "0.99.1")
    assert served["server"].startswith("BaseHTTP/")
    assert identity["tokenizer_sha256"] == tokenizer_hash(stub.tokenizer)
    assert identity["dtype"] is None
    assert identity["request"]["echo"] is True
    backend.prepare([])
    assert backend.identity() == identity == opened(stub, folder).identity()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"model": ""}, "needs model: --model_args base_url=http://HOST:PORT"),
        ({"model": "other"}, "does not have a model “other”. It has tiny"),
        ({"dtype": "float32"}, "does not accept the argument “dtype”. Choose from base_url, model"),
        ({"concurrency": "0"}, "concurrency='0' cannot be used: expected a whole number from 1"),
        ({"tokenizer": "/nowhere"}, "There is no folder “/nowhere”"),
    ],
)
def test_arguments_that_cannot_be_used_are_named(stub, folder, args, words):
    with pytest.raises(ScoringError) as raised:
        opened(stub, folder, **args)
    assert words in str(raised.value)
