"""A float64 model is scored in float64 throughout: compared with a computation in NumPy that shares no code."""

import numpy as np
import pytest
import torch

from scoring.backends.causal_lm.head import Backbone, ChunkedHead, OwnHead
from scoring.backends.causal_lm.probe import choose
from scoring.backends.causal_lm.strategies import STRATEGIES, Packed
from tests.scoring.backends.causal_lm.architectures import make_groups, make_model

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


@pytest.mark.parametrize(
    "name", ["gpt2", "gemma2", "qwen3", "phi3", "mpt", "mamba2", "deepseek_v3"]
)
def test_nothing_is_computed_in_float32_on_the_way(name):
    """What float32 rounds away is 1e-7; what two float64 computations in another order differ by, 1e-14."""
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


def test_soft_caps_are_in_float64_too():
    model, groups = double("gemma2"), make_groups()
    backbone = Backbone(model)
    head = ChunkedHead(model, backbone.head)
    got = Packed(backbone, head).logprobs(groups)
    expected = STRATEGIES[-1](backbone, head).logprobs(groups)
    for a, b in zip(got, expected, strict=True):
        for g, e in zip(a, b, strict=True):
            assert np.abs(g[1:] - e[1:]).max() < TOLERANCE_NATS


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


def test_a_float32_model_is_left_alone():
    model = make_model("llama")
    before = model.model.rotary_emb.inv_freq
    Backbone(model)
    assert model.model.rotary_emb.inv_freq is before
