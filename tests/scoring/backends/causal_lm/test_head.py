"""The chunked vocabulary gives what a float64 log-sum-exp over the same logits gives."""

import numpy as np
import pytest
import torch

from scoring.backends.causal_lm import head as heads
from scoring.backends.causal_lm.head import Backbone, ChunkedHead, OwnHead
from tests.scoring.backends.causal_lm.architectures import make_model


@pytest.fixture
def states():
    rng = torch.Generator().manual_seed(1)
    return torch.randn(50, 64, generator=rng) * 3


@pytest.mark.parametrize("chunk", [1, 16, 64, 211, 4096])
@pytest.mark.parametrize("rows", [7, 2048])
@pytest.mark.parametrize("name", ["gpt2", "phi", "gemma2", "cohere", "granite"])
def test_any_chunk_agrees_with_float64_within_a_millionth(monkeypatch, states, name, chunk, rows):
    monkeypatch.setattr(heads, "VOCABULARY_CHUNK", chunk)
    monkeypatch.setattr(heads, "ROWS", rows)
    model = make_model(name)
    backbone = Backbone(model)
    at = torch.randint(0, 50, (120,), generator=torch.Generator().manual_seed(2))
    targets = torch.randint(0, 211, (120,), generator=torch.Generator().manual_seed(3))
    with torch.inference_mode():
        got = ChunkedHead(model, backbone.head).logprobs(states, at, targets)
        own = OwnHead(backbone).logprobs(states, at, targets)
        logits = backbone.own_logits(states).double()
    expected = torch.log_softmax(logits, -1)[at, targets]
    assert float((got - expected).abs().max()) < 2e-5
    assert float((own - expected).abs().max()) < 1e-9
    # A perplexity over these tokens, as the issue of a scored text
    assert abs(np.exp(float(-got.mean()) + float(expected.mean())) - 1) < 1e-6


def test_logits_of_hundreds_do_not_overflow(states):
    model = make_model("gpt2")
    backbone = Backbone(model)
    at, targets = torch.arange(50), torch.arange(50) * 4
    with torch.inference_mode():
        got = ChunkedHead(model, backbone.head).logprobs(states * 100, at, targets)
    assert bool(torch.isfinite(got).all())


def test_a_nan_stays_a_nan(states):
    model = make_model("gpt2")
    backbone = Backbone(model)
    states[3] = float("nan")
    with torch.inference_mode():
        got = ChunkedHead(model, backbone.head).logprobs(states, torch.arange(50), torch.arange(50))
    assert torch.isnan(got).nonzero()[:, 0].tolist() == [3]
