"""What is loaded: in which precision, with which attention, and how many tokens it takes."""

import copy

import numpy as np
import pytest
import torch
import transformers as hf

from scoring.backends.causal_lm.backend import TransformersBackend
from scoring.backends.causal_lm.loading import context_tokens, load, quiet
from scoring.domain.backend import ScoringError, TokenText
from tests.scoring.tiny_models import save_random

OLD = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 400}
SIZES = {**OLD, "intermediate_size": 64, "max_position_embeddings": 64}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
LATENT = {
    "kv_lora_rank": 8, "q_lora_rank": 8, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8, "head_dim": 8,
    "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "n_group": 1, "topk_group": 1,
    "first_k_dense_replace": 1,
}  # fmt: skip
GPT = {"n_embd": 32, "n_layer": 2, "n_head": 2, "vocab_size": 400}
DECODER = {"is_decoder": True, "is_encoder_decoder": False, "vocab_size": 400, "pad_token_id": 0}


def floating(model):
    tensors = (*model.named_parameters(), *model.named_buffers())
    return {name: tensor.dtype for name, tensor in tensors if tensor.is_floating_point()}


class TestPrecision:
    @pytest.mark.parametrize(
        "config",
        [
            hf.LlamaConfig(**SIZES),
            hf.Qwen3MoeConfig(**SIZES, **EXPERTS, num_key_value_heads=2),
            hf.DeepseekV3Config(**SIZES, **LATENT),  # keeps a bias of its routing in float32
            hf.MambaConfig(**OLD, state_size=8),
        ],
        ids=lambda config: config.model_type,
    )
    def test_float64_reaches_every_parameter_and_buffer_and_runs(self, tmp_path, config):
        folder = save_random(tmp_path, config)
        loaded = load({"pretrained": str(folder), "dtype": "float64", "device": "cpu"})
        assert set(floating(loaded.model).values()) == {torch.float64}
        assert loaded.provenance["dtype"] == "float64"
        with torch.inference_mode():
            logits = loaded.model(input_ids=torch.arange(3, 20)[None], use_cache=False).logits
        assert torch.isfinite(logits).all()

    @pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
    def test_auto_takes_what_the_checkpoint_says_and_says_what_it_was(self, tmp_path, dtype):
        folder = save_random(tmp_path, hf.LlamaConfig(**SIZES), getattr(torch, dtype))
        loaded = load({"pretrained": str(folder), "dtype": "auto", "device": "cpu"})
        assert loaded.model.dtype == getattr(torch, dtype)
        assert loaded.provenance["dtype"] == dtype

    def test_without_a_word_it_is_float32_whatever_the_checkpoint_says(self, tmp_path):
        folder = save_random(tmp_path, hf.LlamaConfig(**SIZES), torch.bfloat16)
        loaded = load({"pretrained": str(folder), "device": "cpu"})
        assert loaded.model.dtype == torch.float32


class TestAttention:
    def test_eager_attention_of_a_falcon_with_alibi_is_refused(self, tmp_path):
        folder = save_random(tmp_path, hf.FalconConfig(**OLD, alibi=True))
        with pytest.raises(ScoringError, match="adds ALiBi twice to a Falcon's attention"):
            load({"pretrained": str(folder), "attn": "eager"})
        assert load({"pretrained": str(folder), "attn": "sdpa"}).model

    def test_a_falcon_that_rotates_may_be_eager(self, tmp_path):
        folder = save_random(tmp_path, hf.FalconConfig(**OLD))
        assert load({"pretrained": str(folder), "attn": "eager"}).model

    def test_transformers_does_compute_it_wrong(self, tmp_path):
        """Where this fails, transformers has put it right: refuse it no longer."""
        folder = save_random(tmp_path, hf.FalconConfig(**OLD, alibi=True))
        ids = torch.arange(3, 40)[None]
        with quiet(), torch.inference_mode():
            right, wrong = (
                hf.AutoModelForCausalLM.from_pretrained(
                    folder, dtype=torch.float64, attn_implementation=name
                ).eval()(input_ids=ids, use_cache=False)
                for name in ("sdpa", "eager")
            )
        assert (right.logits - wrong.logits).abs().max() > 1e-3


WINDOWS = {
    "as most call it": (hf.LlamaConfig(**SIZES), 64),
    "another name": (hf.GPT2Config(**GPT, n_positions=48), 48),
    "a third name": (hf.MptConfig(d_model=32, n_heads=2, n_layers=2, max_seq_len=40), 40),
    "offset by two rows": (hf.OPTConfig(**OLD, ffn_dim=64, max_position_embeddings=64, word_embed_proj_dim=32), 64),
    "counted from behind the padding": (hf.RobertaConfig(**SIZES, is_decoder=True, pad_token_id=1), 62),
    "none, said as -1": (hf.XLNetConfig(d_model=32, n_layer=2, n_head=2, d_inner=64, vocab_size=400), None),
    "none: a recurrence": (hf.MambaConfig(**OLD, state_size=8), None),
    "none: ALiBi": (hf.BloomConfig(hidden_size=32, n_layer=2, n_head=2, vocab_size=400), None),
    "of a decoder of sounds": (
        hf.WhisperConfig(**DECODER, d_model=32, decoder_layers=2, decoder_attention_heads=2, max_target_positions=56), 56),
}  # fmt: skip


class TestTheWindow:
    @pytest.mark.parametrize("name", WINDOWS)
    def test_is_what_the_model_takes_whatever_it_is_called(self, name):
        config, expected = WINDOWS[name]
        model = hf.AutoModelForCausalLM.from_config(copy.deepcopy(config)).eval()
        assert context_tokens(model) == expected
        with torch.inference_mode():
            model(input_ids=torch.arange(3, 3 + (expected or 300))[None], use_cache=False)

    def test_is_not_the_tokenizers_limit(self, tmp_path):
        """transformers writes 1e30 there where a tokenizer has none, and a number of its own where it has."""
        folder = save_random(tmp_path, hf.MambaConfig(**OLD, state_size=8))
        backend = TransformersBackend({"pretrained": str(folder), "device": "cpu"})
        assert backend.tokenizer.model_max_length > 1e29
        assert backend.context_tokens is None
        assert backend.identity()["context_tokens"] is None


def test_a_decoder_of_two_streams_ends_in_one_sentence(tmp_path):
    """Its head is given the next token's states and those of the token after it."""
    config = hf.ProphetNetConfig(
        **DECODER,
        hidden_size=32,
        num_decoder_layers=2,
        num_decoder_attention_heads=2,
        decoder_ffn_dim=64,
        add_cross_attention=False,
    )
    backend = TransformersBackend(
        {"pretrained": str(save_random(tmp_path, config)), "device": "cpu"}
    )
    with pytest.raises(ScoringError, match="predicts more than the next token at each place"):
        backend.prepare([[TokenText("text", np.arange(3, 40))]])
