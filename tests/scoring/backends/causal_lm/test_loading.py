"""Loading a model: in which precision, with which attention, and how many tokens it takes."""

import numpy as np
import pytest
import torch
import transformers as hf

from benchmarks.families.families import GROUPS, LATENT
from scoring.backends.causal_lm.backend import TransformersBackend
from scoring.backends.causal_lm.loading import context_tokens, load, quiet
from scoring.domain.backend import ScoringError, TokenText
from tests.scoring.backends.causal_lm.architectures import config_of
from tests.scoring.tiny_models import save_random

DECODER = {"is_decoder": True, "is_encoder_decoder": False, "pad_token_id": 0}
ALIBI = config_of("falcon", alibi=True)


def floating(model):
    tensors = (*model.named_parameters(), *model.named_buffers())
    return {name: tensor.dtype for name, tensor in tensors if tensor.is_floating_point()}


class TestPrecision:
    @pytest.mark.parametrize(
        "config",
        [
            config_of("llama"),
            config_of("qwen3_moe"),
            config_of("mamba", state_size=8),
            # Keeps a bias of its routing in float32
            config_of(
                "deepseek_v3", **LATENT, **GROUPS, n_routed_experts=4, first_k_dense_replace=1
            ),
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
        folder = save_random(tmp_path, config_of("llama"), getattr(torch, dtype))
        loaded = load({"pretrained": str(folder), "dtype": "auto", "device": "cpu"})
        assert loaded.model.dtype == getattr(torch, dtype)
        assert loaded.provenance["dtype"] == dtype

    def test_without_a_word_it_is_float32_whatever_the_checkpoint_says(self, tmp_path):
        folder = save_random(tmp_path, config_of("llama"), torch.bfloat16)
        loaded = load({"pretrained": str(folder), "device": "cpu"})
        assert loaded.model.dtype == torch.float32


class TestAttention:
    def test_eager_attention_of_a_falcon_with_alibi_is_refused(self, tmp_path):
        folder = save_random(tmp_path, ALIBI)
        with pytest.raises(ScoringError, match="adds ALiBi twice to Falcon's attention"):
            load({"pretrained": str(folder), "attn": "eager"})
        assert load({"pretrained": str(folder), "attn": "sdpa"}).model

    def test_a_falcon_that_rotates_may_be_eager(self, tmp_path):
        folder = save_random(tmp_path, config_of("falcon"))
        assert load({"pretrained": str(folder), "attn": "eager"}).model

    def test_transformers_does_compute_it_wrong(self, tmp_path):
        """Where this fails, transformers has put it right: refuse it no longer."""
        folder = save_random(tmp_path, ALIBI)
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
    "as most call it": (64, "llama", {"max_position_embeddings": 64}),
    "another name": (48, "gpt2", {"n_positions": 48}),
    "a third name": (40, "mpt", {"max_seq_len": 40}),
    "offset by two rows": (64, "opt", {"max_position_embeddings": 64, "word_embed_proj_dim": 64}),
    "counted from behind the padding": (62, "roberta", {"is_decoder": True, "max_position_embeddings": 64, "pad_token_id": 1}),
    "none, said as -1": (None, "xlnet", {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 64, "d_head": 16}),
    "none: a recurrence": (None, "mamba", {"state_size": 8}),
    "none: ALiBi": (None, "bloom", {}),
    "of a decoder of sounds": (56, "whisper", {**DECODER, "decoder_layers": 2, "max_target_positions": 56}),
}  # fmt: skip


class TestTheWindow:
    @pytest.mark.parametrize("name", WINDOWS)
    def test_is_what_the_model_takes_whatever_it_is_called(self, name):
        expected, model_type, settings = WINDOWS[name]
        config = config_of(model_type, vocab_size=400, **settings)
        model = hf.AutoModelForCausalLM.from_config(config).eval()
        assert context_tokens(model) == expected
        with torch.inference_mode():
            model(input_ids=torch.arange(3, 3 + (expected or 300))[None], use_cache=False)

    def test_is_not_the_tokenizers_limit(self, tmp_path):
        """transformers writes 1e30 there where a tokenizer has none, and a number of its own where it has."""
        folder = save_random(tmp_path, config_of("mamba", state_size=8))
        backend = TransformersBackend({"pretrained": str(folder), "device": "cpu"})
        assert backend.tokenizer.model_max_length > 1e29
        assert backend.context_tokens is None
        assert backend.identity()["context_tokens"] is None


def test_a_decoder_of_two_streams_ends_in_one_sentence(tmp_path):
    """Its head is given the next token's states and those of the token after it."""
    sizes = {"hidden_size": 32, "num_decoder_layers": 2, "num_decoder_attention_heads": 2}
    more = {"decoder_ffn_dim": 64, "add_cross_attention": False}
    config = hf.ProphetNetConfig(**DECODER, **sizes, **more, vocab_size=400)
    backend = TransformersBackend(
        {"pretrained": str(save_random(tmp_path, config)), "device": "cpu"}
    )
    with pytest.raises(ScoringError, match="predicts more than the next token at each place"):
        backend.prepare([[TokenText("text", np.arange(3, 40))]])
