"""Writes a tiny Llama as a GGUF file. Run by a Python that has the package `gguf`, which the site itself does not need.

Usage: write_gguf.py WEIGHTS.npz TOKENIZER.json OUT.gguf add_bos|add_none
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
N_HEADS, WINDOW = 4, 512


def gguf_name(name: str) -> str:
    stem = name.removesuffix(".weight")
    if stem.startswith("model.layers."):
        _, _, layer, rest = stem.split(".", 3)
        return f"blk.{layer}.{NAMES[rest]}.weight"
    return f"{NAMES[stem]}.weight"


def rotated_in_pairs(weight: Any) -> Any:
    """Transformers rotates the halves of a head together, GGUF its neighbours."""
    rows, width = weight.shape
    halves = weight.reshape(N_HEADS, 2, rows // N_HEADS // 2, width)
    return halves.swapaxes(1, 2).reshape(rows, width)


def add_tokenizer(writer: Any, tokenizer: dict[str, Any]) -> None:
    """Byte-level as GPT-2's and Llama 3's, or with a byte for what has no token, as Llama 2's."""
    import gguf

    kinds = gguf.TokenType
    model = tokenizer["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    special = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    of_bytes = bool(model["byte_fallback"])
    writer.add_tokenizer_model("llama" if of_bytes else "gpt2")
    writer.add_tokenizer_pre("default" if of_bytes else "gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(
        [
            kinds.CONTROL
            if token in special
            else kinds.BYTE
            if of_bytes and token.startswith("<0x")
            else kinds.NORMAL
            for token in tokens
        ]
    )
    if of_bytes:  # the earlier a token was made of two others, the sooner it is again
        writer.add_token_scores([-float(n) for n in range(len(tokens))])
    merges = model["merges"]
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in merges])
    start = tokenizer["post_processor"]["single"][0]["SpecialToken"]["id"]
    writer.add_bos_token_id(special[start])
    writer.add_eos_token_id(special[start])


def write(weights: dict[str, Any], tokenizer: dict[str, Any], out: Path, add_bos: bool) -> None:
    import gguf

    width = weights["model.norm.weight"].shape[0]
    n_layers = sum(name.endswith("q_proj.weight") for name in weights)
    writer = gguf.GGUFWriter(out, "llama")
    writer.add_context_length(WINDOW)
    writer.add_embedding_length(width)
    writer.add_block_count(n_layers)
    writer.add_feed_forward_length(weights["model.layers.0.mlp.up_proj.weight"].shape[0])
    writer.add_head_count(N_HEADS)
    writer.add_head_count_kv(N_HEADS)
    writer.add_rope_dimension_count(width // N_HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-6)
    add_tokenizer(writer, tokenizer)
    writer.add_add_bos_token(add_bos)
    for name, weight in weights.items():
        is_rotated = "q_proj" in name or "k_proj" in name
        writer.add_tensor(gguf_name(name), rotated_in_pairs(weight) if is_rotated else weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    npz, tokenizer_json, out, bos = sys.argv[1:]
    with np.load(npz) as loaded:
        write(
            dict(loaded), json.loads(Path(tokenizer_json).read_text()), Path(out), bos == "add_bos"
        )
