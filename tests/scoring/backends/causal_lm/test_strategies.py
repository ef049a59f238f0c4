"""Every architecture is scored right by some forward strategy, and the probe finds the fastest such."""

import numpy as np
import pytest
import torch

from scoring.backends.causal_lm import probe
from scoring.backends.causal_lm.head import Backbone, ChunkedHead, OwnHead
from scoring.backends.causal_lm.probe import choose
from scoring.backends.causal_lm.strategies import STRATEGIES, Mask
from scoring.domain.backend import ScoringError
from tests.scoring.backends.causal_lm.architectures import (
    ARCHITECTURES,
    expected_logprobs,
    make_groups,
    make_model,
    perplexity_of,
)

TOLERANCE = 1e-5  # relative, of a perplexity: float32 against float64


def largest_error(got, expected):
    return max(
        abs(perplexity_of(g) / perplexity_of(e) - 1)
        for a, b in zip(got, expected, strict=True)
        for g, e in zip(a, b, strict=True)
    )


def expected_of(model, groups):
    return [[expected_logprobs(model, ids) for ids in group] for group in groups]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_chosen_strategy_is_the_fastest_right_one_and_agrees_with_float64(name):
    model, groups = make_model(name), make_groups()
    choice = choose(model, groups)
    assert choice.strategy.name == ARCHITECTURES[name][1], choice.refused
    assert choice.probed_on == "tiny model and real items"
    expected = expected_of(model, groups)
    for batch_tokens in (1, 90, 150, 10_000):
        plan = choice.strategy.plan(groups, batch_tokens)
        assert sorted(n for batch in plan for n in batch) == list(range(len(groups)))
        got = [None] * len(groups)
        for batch in plan:
            for n, result in zip(
                batch, choice.strategy.logprobs([groups[n] for n in batch]), strict=True
            ):
                got[n] = result
        assert largest_error(got, expected) < TOLERANCE


# A mask replaces Mistral's window, which is the next test's
RIGHT = [
    (name, strategy)
    for name in ("gpt2", "llama", "mistral", "phi")
    for strategy in STRATEGIES
    if (name, strategy) != ("mistral", Mask)
]


@pytest.mark.parametrize(("name", "strategy"), RIGHT)
@pytest.mark.parametrize("head", [ChunkedHead, OwnHead])
def test_every_strategy_that_an_architecture_may_use_gives_the_same_perplexities(
    name, strategy, head
):
    model, groups = make_model(name), make_groups(seed=3)
    backbone = Backbone(model)
    used = head(model, backbone.head) if head is ChunkedHead else head(backbone)
    got = strategy(backbone, used).logprobs(groups)
    assert largest_error(got, expected_of(model, groups)) < TOLERANCE


@pytest.mark.parametrize("name", ["mistral", "gemma2", "gemma3", "mpt"])
def test_a_mask_that_a_window_or_alibi_makes_wrong_is_refused_by_the_probe(name):
    model, groups = make_model(name), make_groups()
    with pytest.raises(ScoringError, match=r"strategy=mask is not right for this model: \w+"):
        choose(model, groups, "mask")


def test_a_window_longer_than_the_texts_makes_the_mask_right():
    model = make_model("mistral")
    model.config.sliding_window = 4096
    assert choose(model, make_groups(), "mask").strategy.name == "mask"


def test_a_text_that_is_the_beginning_of_its_partner_and_two_equal_texts_are_scored():
    model, long = make_model("gpt2"), make_groups()[0][0]
    groups = [[long, long[:-4]], [long[:-4], long], [long, long]]
    backbone = Backbone(model)
    for strategy in STRATEGIES:
        got = strategy(backbone, ChunkedHead(model, backbone.head)).logprobs(groups)
        assert largest_error(got, expected_of(model, groups)) < TOLERANCE
    assert np.array_equal(got[2][0][1:], got[2][1][1:])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_versions_that_differ_from_their_first_token_are_scored(strategy):
    """The probe may not have seen such a pair: it looks at the longest text and the shortest."""
    model, groups = make_model("llama"), make_groups()
    other = (groups[1][1] + 1) % 200
    groups[1] = [groups[1][0], other]
    assert groups[1][0][0] != other[0]
    backbone = Backbone(model)
    got = strategy(backbone, OwnHead(backbone)).logprobs(groups)
    assert largest_error(got, expected_of(model, groups)) < TOLERANCE


def test_the_same_batch_gives_the_same_bits():
    model, groups = make_model("gpt2"), make_groups()
    strategy = choose(model, groups).strategy
    first = strategy.logprobs(groups)
    strategy.logprobs(groups[:2])
    again = strategy.logprobs(groups)
    for a, b in zip(first, again, strict=True):
        for x, y in zip(a, b, strict=True):
            assert x.tobytes() == y.tobytes()


def test_the_model_is_left_as_it_was():
    model, groups = make_model("gpt2"), make_groups()
    head, attention = model.get_output_embeddings(), model.config._attn_implementation
    choose(model, groups).strategy.logprobs(groups)
    assert model.get_output_embeddings() is head
    assert model.config._attn_implementation == attention


def test_a_model_that_looks_ahead_is_refused():
    config = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    from transformers import BertConfig, BertLMHeadModel

    torch.manual_seed(0)
    model = BertLMHeadModel(BertConfig(**config, intermediate_size=128, vocab_size=211)).eval()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.mul_(4)
    with pytest.raises(ScoringError, match="no causal language model"):
        choose(model, make_groups())


def test_without_a_tiny_model_nothing_is_shared(monkeypatch):
    monkeypatch.setattr(probe, "tiny_model", lambda _: None)
    choice = choose(make_model("llama"), make_groups())
    assert choice.strategy.name == "padded"
    assert choice.probed_on == "real items"


def test_bfloat16_is_scored_in_float32_or_better_after_the_logits():
    model, groups = make_model("llama"), make_groups()
    expected = expected_of(model, groups)
    low = make_model("llama").to(torch.bfloat16)
    got = choose(low, groups).strategy.logprobs(groups)
    assert 1e-6 < largest_error(got, expected) < 0.1
    assert got[0][0].dtype == np.float64
