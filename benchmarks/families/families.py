"""Families of models that the sweep goes through: real configuration classes of transformers, at small sizes.

Each has twelve layers, more than a look at the first few would see, and windows of 16 tokens, which every text exceeds
many times; where a family mixes kinds of layers, the last two differ from those before.
"""

from dataclasses import dataclass, field
from typing import Any

from transformers import CONFIG_MAPPING, PreTrainedConfig

N_LAYERS = 12
WINDOW = 16  # tokens
VOCABULARY = 3072  # the demonstration model's, whose tokenizer reads the texts
# Whatever of these a configuration has by default is set; names differ, sizes do not
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "d_model": 64,
    "num_hidden_layers": N_LAYERS,
    "decoder_layers": N_LAYERS,
    "num_attention_heads": 4,
    "decoder_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 96,
    "ffn_dim": 96,
    "decoder_ffn_dim": 96,
    "n_inner": 96,
    "max_position_embeddings": 512,
    "sliding_window": WINDOW,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 0,
}
FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"
# Windows in the last two layers alone
LATE_WINDOWS = {"use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 10}
LATE_WINDOWS_LISTED = {
    "use_sliding_window": True, "sliding_window": WINDOW, "layer_types": [FULL] * 10 + [SLIDING] * 2,
}  # fmt: skip
# The last layer alone differs from a pattern that ends before it
LATE_FULL = {"layer_types": [SLIDING] * (N_LAYERS - 1) + [FULL]}
LATE_SLIDING = {"layer_types": [FULL] * (N_LAYERS - 1) + [SLIDING]}
# Latent attention: keys and values from a small matrix, rotation of a part of a head
LATENT = {
    "head_dim": 8, "num_key_value_heads": 4, "kv_lora_rank": 16, "q_lora_rank": 24,
    "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16,
}  # fmt: skip
GROUPS = {"n_group": 1, "topk_group": 1}
DENSE_FIRST = {"first_k_dense_replace": 10, "n_routed_experts": 4, "n_shared_experts": 1}
MAMBA = {"mamba_d_state": 8, "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_chunk_size": 16}
DELTA = {
    "layer_types": [FULL] * 10 + [LINEAR, FULL], "linear_key_head_dim": 8, "linear_value_head_dim": 8,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4,
}  # fmt: skip


@dataclass(frozen=True)
class Family:
    """A model type of transformers and what is odd about this configuration of it."""

    model_type: str
    trait: str
    settings: dict[str, Any] = field(default_factory=dict)
    is_refused: bool = False  # should scoring end in one sentence?

    @property
    def name(self) -> str:
        return f"{self.model_type}, {self.trait}"

    def config(self) -> PreTrainedConfig:
        kind = CONFIG_MAPPING[self.model_type]
        known = {*kind().to_dict(), *kind.attribute_map}
        spelled = {kind.attribute_map.get(name, name) for name in self.settings}
        sizes = {
            name: value
            for name, value in SIZES.items()
            if name in known and kind.attribute_map.get(name, name) not in spelled
        }
        return kind(**sizes, **self.settings)


def _family(model_type: str, trait: str = "default", **settings: Any) -> Family:
    return Family(model_type, trait, settings)


def _refused(model_type: str, trait: str, **settings: Any) -> Family:
    return Family(model_type, trait, settings, is_refused=True)


_ROPE = {"rope_theta": 10_000.0}
_DENSE_LAST = {"mlp_layer_types": ["sparse"] * 10 + ["dense", "sparse"]}
_DECODER = {"is_decoder": True, "is_encoder_decoder": False}
_SPARSE_LAST = {"mlp_layer_types": ["dense"] * 10 + ["sparse", "sparse"]}

ATTENTION = (
    _family("gpt2", "learned positions, tied head"),
    _family("gpt2", "attention scaled by layer", scale_attn_by_inverse_layer_idx=True),
    _family("gpt_bigcode", "one head of keys and values"),
    _family("gpt_bigcode", "all heads of keys and values", multi_query=False),
    _family("gpt_neo", "local attention only in the last layer", num_layers=12, num_heads=4, window_size=WINDOW,
            attention_types=[[["global"], 11], [["local"], 1]]),
    _family("gpt_neox", "a quarter rotated, parallel residual"),
    _family("gpt_neox", "all rotated, serial residual", use_parallel_residual=False,
            rope_parameters={**_ROPE, "rope_type": "default", "partial_rotary_factor": 1.0}),
    _family("gpt_neox_japanese", "bias in the last layer"),
    _family("gptj", "interleaved rotation", rotary_dim=8),
    _family("codegen", "interleaved rotation", rotary_dim=8),
    _family("openai-gpt", "norms after the layers"),
    _family("ctrl", "sinusoidal positions", dff=96, n_embd=64),
    _family("opt", "learned positions, offset by two"),
    _family("opt", "embeddings narrower than the layers", word_embed_proj_dim=32, do_layer_norm_before=False),
    _family("xglm", "sinusoidal positions"),
    _family("biogpt", "learned positions, scaled embeddings"),
    _family("bloom", "ALiBi"),
    _family("mpt", "ALiBi"),
    _family("falcon", "rotary, one head of keys and values"),
    _family("falcon", "ALiBi", alibi=True),
    _family("falcon", "new decoder, grouped keys", new_decoder_architecture=True, num_kv_heads=2),
    _family("llama", "grouped keys"),
    _family("llama", "one head of keys, tied head", num_key_value_heads=1, tie_word_embeddings=True),
    _family("llama", "linear RoPE", rope_parameters={**_ROPE, "rope_type": "linear", "factor": 4.0}),
    _family("llama", "dynamic RoPE, texts beyond the trained length", max_position_embeddings=512,
            rope_parameters={**_ROPE, "rope_type": "dynamic", "factor": 4.0,
                             "original_max_position_embeddings": 128}),
    _family("llama", "YaRN", rope_parameters={**_ROPE, "rope_type": "yarn", "factor": 4.0,
                                              "original_max_position_embeddings": 128}),
    _family("llama", "RoPE of Llama 3", rope_parameters={
        **_ROPE, "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 128}),
    _family("llama4_text", "chunked attention, layers without rotation", attention_chunk_size=WINDOW,
            intermediate_size_mlp=96, num_local_experts=4),
    _family("mistral", "windows"),
    _family("mistral", "no window", sliding_window=None),
    _family("ministral", "windows in all layers but the last", **LATE_FULL),
    _family("ministral3", "temperature by position"),
    _family("mixtral", "experts"),
    _family("mixtral", "experts, windows", sliding_window=WINDOW),
    _family("qwen2", "no window"),
    _family("qwen2", "windows in the last two layers", **LATE_WINDOWS),
    _family("qwen2_moe", "windows in the last two layers, dense middle", **LATE_WINDOWS_LISTED, mlp_only_layers=[5, 6]),
    _family("qwen2_moe", "experts only in the last layer", mlp_only_layers=list(range(11))),
    _family("qwen3", "norms of queries and keys"),
    _family("qwen3", "windows in the last two layers", **LATE_WINDOWS),
    _family("qwen3_moe", "windows", use_sliding_window=True),
    _family("gemma", "scaled embeddings"),
    _family("gemma2", "every other layer windowed, soft caps"),
    _family("gemma2", "window only in the last layer", **LATE_SLIDING),
    _family("gemma3_text", "five windowed layers to a full one"),
    _family("gemma3_text", "full attention only in the last layer", **LATE_FULL),
    _family("gemma3n_text", "layers that share keys, inputs per layer", layer_types=[SLIDING, SLIDING, FULL] * 4,
            vocab_size_per_layer_input=3072, hidden_size_per_layer_input=8, laurel_rank=8, num_kv_shared_layers=3,
            activation_sparsity_pattern=[0.0] * N_LAYERS, intermediate_size=[96] * N_LAYERS),
    _family("gemma4_text", "inputs per layer", vocab_size_per_layer_input=3072, hidden_size_per_layer_input=8,
            global_head_dim=16, num_kv_shared_layers=0),
    _family("vaultgemma", "windows, no norms after the layers"),
    _family("phi", "half rotated"),
    _family("phi3", "windows", sliding_window=WINDOW),
    _family("phi3", "long RoPE, texts beyond the trained length", original_max_position_embeddings=128,
            rope_parameters={**_ROPE, "rope_type": "longrope", "short_factor": [1.0] * 8,
                             "long_factor": [2.0] * 8, "original_max_position_embeddings": 128}),
    _family("phimoe", "experts"),
    _family("cohere", "scaled logits, norms of queries and keys", use_qk_norm=True),
    _family("cohere2", "three windowed layers to one without positions"),
    _family("cohere2", "window only in the last layer", **LATE_SLIDING),
    _family("granite", "scaled logits and residuals", logits_scaling=3.0, residual_multiplier=0.5),
    _family("granitemoe", "experts", num_local_experts=4),
    _family("granitemoeshared", "shared expert", num_local_experts=4, shared_intermediate_size=32),
    _family("olmo", "norms without weights"),
    _family("olmo2", "norms after the layers"),
    _family("olmo3", "three windowed layers to a full one"),
    _family("olmo3", "window only in the last layer", **LATE_SLIDING),
    _family("olmoe", "experts"),
    _family("flex_olmo", "experts"),
    _family("stablelm", "a quarter rotated"),
    _family("starcoder2", "windows", sliding_window=WINDOW),
    _family("nemotron", "norms add one to their weights"),
    _family("persimmon", "half rotated, norms of queries and keys"),
    _family("glm", "half rotated, interleaved"),
    _family("glm4", "norms before and after the layers"),
    _family("glm4_moe", "dense in all layers but the last two", first_k_dense_replace=10, n_routed_experts=4,
            **GROUPS),
    _family("helium", "grouped keys"),
    _family("smollm3", "no rotation in every fourth layer"),
    _family("smollm3", "windows in the last two layers", **LATE_WINDOWS_LISTED),
    _family("exaone4", "three windowed layers to a full one"),
    _family("exaone4", "window only in the last layer", **LATE_SLIDING),
    _family("ernie4_5", "interleaved rotation"),
    _family("ernie4_5_moe", "experts in the last two layers", moe_num_experts=4, moe_k=2, moe_layer_start_index=10,
            moe_layer_end_index=11),
    _family("hunyuan_v1_dense", "norms of queries and keys"),
    _family("hunyuan_v1_moe", "experts", num_experts=4, moe_topk=2),
    _family("gpt_oss", "attention sinks, every other layer windowed", num_local_experts=4),
    _family("gpt_oss", "window only in the last layer", num_local_experts=4, **LATE_SLIDING),
    _family("dots1", "windows in the last two layers", n_routed_experts=4, n_shared_experts=1, max_window_layers=10,
            num_experts_per_tok=2),
    _family("minimax_m2", "experts"),
    _family("mimo_v2_flash", "windows of another head size", v_head_dim=12, n_routed_experts=4, **GROUPS),
    _family("afmoe", "windows and gates", global_attn_every_n_layers=4),
    _family("arcee", "squared ReLU"),
    _family("apertus", "learned activation"),
    _family("bitnet", "norms inside the layers"),
    _family("cwm", "windows"),
    _family("diffllama", "differential attention"),
    _family("doge", "dynamic mask", keep_window_size=WINDOW, is_moe=False),
    _family("nanochat", "soft cap of logits"),
    _family("seed_oss", "bias of attention"),
    _family("jais2", "squared ReLU"),
    _family("jetmoe", "experts of attention", num_local_experts=4),
    _family("modernbert-decoder", "two windowed layers to a full one", local_attention=2 * WINDOW),
    _family("dbrx", "fused experts", n_layers=12, n_heads=4,
            attn_config={"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 10_000.0},
            ffn_config={"ffn_hidden_size": 48, "moe_num_experts": 4, "moe_top_k": 2}),
    _family("aria_text", "experts", moe_num_experts=4, moe_topk=2, moe_num_shared_experts=1),
    _family("laguna", "window only in the last layer", **LATE_SLIDING,
            num_attention_heads_per_layer=[4] * N_LAYERS),
    _family("hyperclovax", "scaled logits"),
    _family("roformer", "rotary decoder", is_decoder=True),
    _family("bert", "as a decoder", is_decoder=True),
    _family("roberta", "as a decoder", is_decoder=True, pad_token_id=1),
    _family("xlm-roberta-xl", "as a decoder", is_decoder=True, pad_token_id=1),
    _family("electra", "as a decoder", is_decoder=True),
    _family("rembert", "as a decoder", is_decoder=True, output_embedding_size=64),
    _family("megatron-bert", "as a decoder", is_decoder=True),
    _family("big_bird", "as a decoder, block-sparse", is_decoder=True, attention_type="original_full"),
    _family("bart", "decoder only", **_DECODER),
    _family("whisper", "decoder only", **_DECODER, max_target_positions=512),
    _family("xlm", "causal", causal=True, emb_dim=64, n_layers=12, n_heads=4, n_langs=1),
)  # fmt: skip

LATENT_ATTENTION = (
    _family("deepseek_v2", "latent attention, experts in the last two layers", **LATENT, **DENSE_FIRST,
            num_experts_per_tok=2, **GROUPS),
    _family("deepseek_v3", "latent attention, experts in the last two layers", **LATENT, **DENSE_FIRST, **GROUPS),
    _family("deepseek_v32", "indexed attention", **LATENT, **GROUPS, **_SPARSE_LAST, n_routed_experts=4,
            n_shared_experts=1, index_topk=WINDOW, index_head_dim=16, index_n_heads=2),
    _family("glm4_moe_lite", "latent attention, experts", **LATENT, **GROUPS, n_routed_experts=4, **_SPARSE_LAST),
    _family("minicpm3", "latent attention, scaled residuals", **LATENT, dim_model_base=64),
    _family("youtu", "latent attention", **LATENT),
    _family("longcat_flash", "two latent attentions per layer", **LATENT, num_layers=6, n_routed_experts=4,
            zero_expert_num=2, moe_topk=2, expert_ffn_hidden_size=32, ffn_hidden_size=96),
)  # fmt: skip

RECURRENT = (
    _family("mamba", "state space", state_size=8, time_step_rank=4),
    _family("falcon_mamba", "state space, norms inside", state_size=8, time_step_rank=4),
    _family("mamba2", "state space of heads", state_size=8, num_heads=8, head_dim=16, n_groups=2, chunk_size=16),
    _family("jamba", "state space; attention in one layer of eight", num_experts=4, mamba_d_state=8, mamba_dt_rank=4),
    _family("jamba", "state space; attention only in the last layer", num_experts=4, mamba_d_state=8,
            mamba_dt_rank=4, attn_layer_period=12, attn_layer_offset=11, expert_layer_period=12,
            expert_layer_offset=11),
    _family("bamba", "state space; attention only in the last layer", **MAMBA, attn_layer_indices=[11]),
    _family("zamba2", "state space; shared attention", mamba_d_state=8, n_mamba_heads=8, mamba_headdim=16,
            chunk_size=16, hybrid_layer_ids=[5, 11], layer_types=[LINEAR] * 5 + ["hybrid"] + [LINEAR] * 5 + ["hybrid"]),
    _family("falcon_h1", "state space and attention in parallel; logits multiplied", **MAMBA, mamba_d_ssm=128,
            lm_head_multiplier=0.5),
    _family("granitemoehybrid", "state space; attention only in the last layer", **MAMBA, num_local_experts=4,
            shared_intermediate_size=32, layer_types=[LINEAR] * 11 + [FULL]),
    _family("nemotron_h", "state space; attention late, experts", ssm_state_size=8, mamba_num_heads=8, mamba_head_dim=16,
            n_groups=2, chunk_size=16, n_routed_experts=4, moe_shared_expert_intermediate_size=32,
            layers_block_type=[LINEAR, "mlp"] * 5 + [FULL, "moe"]),
    _family("recurrent_gemma", "recurrence; windows in one layer of three", lru_width=64,
            attention_window_size=WINDOW),
    _family("lfm2", "convolutions; attention late", layer_types=["conv"] * 10 + [FULL, "conv"]),
    _family("lfm2_moe", "convolutions; attention late, experts", layer_types=["conv"] * 10 + [FULL, "conv"]),
    _family("qwen3_next", "delta rule late", **DELTA),
    _family("qwen3_5_text", "delta rule late", **DELTA),
    _family("olmo_hybrid", "delta rule late", **DELTA),
    _family("minimax", "lightning attention only in the last layer", layer_types=[FULL] * 11 + [LINEAR],
            num_local_experts=4, block_size=WINDOW),
    _family("kimi_linear", "delta rule; latent attention last",
            **{**LATENT, "q_lora_rank": None}, **_DENSE_LAST, linear_head_dim=16, linear_num_heads=4,
            layer_types=[LINEAR] * 11 + [FULL]),
    _family("rwkv", "recurrence", attention_hidden_size=64, context_length=512),
    _family("xlstm", "matrix memory", num_heads=4, chunk_size=16),
)  # fmt: skip

# Not causal, or with an encoder: each must end in one sentence
REFUSED = (
    _refused("bert", "not as a decoder"),
    _refused("xlnet", "looks ahead, no window", d_head=16, n_head=4, n_layer=12, d_inner=96, d_model=64),
    _refused("t5", "encoder-decoder"),
    _refused("bart", "encoder-decoder"),
    _refused("prophetnet", "encoder-decoder"),
    _refused("prophetnet", "decoder only, two streams", **_DECODER, num_decoder_layers=12,
             num_decoder_attention_heads=4, add_cross_attention=False),
    _refused("whisper", "encoder-decoder of sounds"),
)  # fmt: skip

FAMILIES = (*ATTENTION, *LATENT_ATTENTION, *RECURRENT, *REFUSED)
