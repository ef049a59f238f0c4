"""Every architecture is scored right by some forward strategy, in float64 too."""

import numpy as np
import pytest
import torch

from scoring.backends.causal_lm import attention, layout, probe
from scoring.backends.causal_lm import head as heads
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


# Of each strategy and trait one; the rest is for the sweep
FEW = ("gpt2", "llama", "mistral", "gemma2", "phi", "falcon-rotary", "falcon-alibi", "mamba", "mamba2", "deepseek_v3")  # fmt: skip


@pytest.mark.parametrize(
    "name", [n if n in FEW else pytest.param(n, marks=pytest.mark.sweep) for n in ARCHITECTURES]
)
def test_the_chosen_strategy_is_the_fastest_right_one_and_agrees_with_float64(name):
    model, groups = make_model(name), make_groups()
    choice = choose(model, groups)
    assert choice.strategy.name == ARCHITECTURES[name][2], choice.refused
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


def test_a_model_that_looks_ahead_is_refused():
    config = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    from transformers import BertConfig, BertLMHeadModel

    torch.manual_seed(0)
    model = BertLMHeadModel(BertConfig(**config, intermediate_size=128, vocab_size=211)).eval()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.mul_(4)
    with pytest.raises(ScoringError, match="not a causal language model"):
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


@pytest.fixture
def states():
    rng = torch.Generator().manual_seed(1)
    return torch.randn(50, 64, generator=rng) * 3


@pytest.mark.parametrize(("chunk", "rows"), [(1, 2048), (64, 7), (4096, 2048)])
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


TOLERANCE_NATS = 1e-9


def double(name):
    return make_model(name).double()


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def llama(model, ids):
    """(T,) log-probabilities by the formulas of the Llama paper, from the model's weights alone."""
    w = {name: p.detach().numpy() for name, p in model.named_parameters()}
    c = model.config
    n, h, d = len(ids), c.num_attention_heads, c.hidden_size // c.num_attention_heads

    def norm(x, weight):
        return weight * x / np.sqrt((x**2).mean(-1, keepdims=True) + c.rms_norm_eps)

    angle = np.outer(np.arange(n), c.rope_parameters["rope_theta"] ** -(np.arange(0, d, 2) / d))
    cos, sin = (np.concatenate([f(angle)] * 2, -1) for f in (np.cos, np.sin))

    def rotated(x):  # (H, T, D)
        return x * cos + np.concatenate([-x[..., d // 2 :], x[..., : d // 2]], -1) * sin

    x = w["model.embed_tokens.weight"][ids]
    for layer in range(c.num_hidden_layers):
        at = f"model.layers.{layer}."
        y = norm(x, w[at + "input_layernorm.weight"])
        q, k, v = (
            (y @ w[f"{at}self_attn.{one}_proj.weight"].T).reshape(n, -1, d).transpose(1, 0, 2)
            for one in "qkv"
        )
        k, v = (np.repeat(one, h // len(one), 0) for one in (rotated(k), v))
        seen = softmax(
            np.where(np.tri(n, dtype=bool), rotated(q) @ k.transpose(0, 2, 1) / d**0.5, -np.inf)
        )
        x = x + (seen @ v).transpose(1, 0, 2).reshape(n, -1) @ w[at + "self_attn.o_proj.weight"].T
        y = norm(x, w[at + "post_attention_layernorm.weight"])
        gate = y @ w[at + "mlp.gate_proj.weight"].T
        up = y @ w[at + "mlp.up_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ w[at + "mlp.down_proj.weight"].T
    logits = norm(x, w["model.norm.weight"]) @ w["lm_head.weight"].T
    top = logits.max(-1, keepdims=True)
    table = logits - top - np.log(np.exp(logits - top).sum(-1, keepdims=True))
    return np.append(np.nan, table[np.arange(n - 1), ids[1:]])


def test_every_strategy_agrees_with_the_papers_formulas_to_a_billionth():
    model, groups = double("llama"), make_groups()
    expected = [[llama(model, ids) for ids in group] for group in groups]
    backbone = Backbone(model)
    for kind in STRATEGIES:
        for head in (ChunkedHead(model, backbone.head), OwnHead(backbone)):
            got = kind(backbone, head).logprobs(groups)
            for a, b in zip(got, expected, strict=True):
                for g, e in zip(a, b, strict=True):
                    assert np.abs(g[1:] - e[1:]).max() < TOLERANCE_NATS


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_nth_position_from_the_last_is_scored_and_the_others_are_nan(strategy):
    model, groups = double("gpt2"), make_groups()
    backbone = Backbone(model)
    full, some = (strategy(backbone, OwnHead(backbone), n).logprobs(groups) for n in (1, 3))
    for a, b in zip(full, some, strict=True):
        for one, thinned in zip(a, b, strict=True):
            from_the_last = np.arange(len(one))[::-1]
            expected = np.where(from_the_last % 3 == 0, one, np.nan)
            assert thinned == pytest.approx(expected, abs=TOLERANCE_NATS, nan_ok=True)
            assert np.isfinite(thinned[-1])


@pytest.mark.parametrize(
    "name", ["gpt2", "gemma2", "qwen3", "phi3", "mpt", "mamba2", "deepseek_v3"]
)
def test_nothing_is_computed_in_float32_on_the_way(name):
    """Float32 rounds away 1e-7; two float64 computations in another order differ by 1e-14."""
    model, groups = double(name), make_groups()
    strategy = choose(model, groups).strategy
    got = strategy.logprobs(groups[:1])[0]
    single = STRATEGIES[-1](strategy.backbone, OwnHead(strategy.backbone))
    for g, e in zip(got, single.logprobs(groups[:1])[0], strict=True):
        assert np.abs(g[1:] - e[1:]).max() < TOLERANCE_NATS
    seen = set()

    def note(_module, _args, output):
        seen.update(
            t.dtype
            for t in (output if isinstance(output, tuple) else (output,))
            if torch.is_tensor(t)
        )

    hooks = [module.register_forward_hook(note) for module in model.modules()]
    strategy.logprobs(groups[:1])
    for hook in hooks:
        hook.remove()
    assert {dtype for dtype in seen if dtype.is_floating_point} == {torch.float64}


def test_rotary_frequencies_are_made_again_in_float64():
    model = double("llama")
    rotary = model.model.rotary_emb
    before = rotary.inv_freq.clone()
    Backbone(model)
    d = model.config.head_dim
    theta = model.config.rope_parameters["rope_theta"]
    exact = torch.from_numpy(theta ** -(np.arange(0, d, 2) / d))
    assert float((before - exact).abs().max()) > 1e-10
    assert float((rotary.inv_freq - exact).abs().max()) < 1e-15


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_rows_of_a_packs_mask_begin_where_kernels_of_a_gpu_can_read(dtype):
    """At multiples of 16 bytes; with 11 columns each, the CUDA error was "misaligned address"."""
    texts = np.arange(11), np.append(np.arange(6), 7)
    with attention.running(layout.lay_out([texts]), torch.device("cpu")) as running:
        masks = [running.mask(n, 3, None, torch.zeros(1, dtype=dtype)) for n in range(9)]
    assert all(mask.data_ptr() % 16 == mask.stride(0) * mask.itemsize % 16 == 0 for mask in masks)
    seen = torch.ones(3, 11, dtype=torch.bool).tril(8)
    assert torch.equal(masks[8] == 0, seen)
