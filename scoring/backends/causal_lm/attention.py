"""Attention over a pack: one call per segment, over the tokens that it may see and no others.

Registered with transformers as an attention function, so that every architecture which asks for one by name can run
packs. One that asks for none ignores it; that is what the probe finds out.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import AttentionInterface, PreTrainedModel

from scoring.backends.causal_lm.layout import Pack

NAME = "brainbench_packed"
# A GPU's kernels read masks from addresses that are multiples of 16 bytes; a slice of rows begins at a multiple of this
MASK_COLUMNS = 8
# PyTorch's kernel for a CPU computes what a mask hides: rows of a segment are given only the keys up to their last
TILE_ROWS = 64

_current: ContextVar["PackAttention | None"] = ContextVar("brainbench_pack", default=None)


class PackAttention:
    """The facts about the running pack that all layers need."""

    def __init__(self, pack: Pack, device: torch.device) -> None:
        self.pack = pack
        self.device = device
        self._masks: dict[tuple[int | None, torch.dtype, torch.device], Tensor] = {}
        self.n_calls = 0

    def mask(self, n_seen: int, n_own: int, window: int | None, like: Tensor) -> Tensor:
        """(n_own, n_seen + n_own) additive mask: token i of the segment sees all up to n_seen + i, or a window of them."""
        longest = max(s.n_seen + s.end - s.start for s in self.pack.segments)
        key = (window if window and window < longest else None, like.dtype, like.device)
        if key not in self._masks:
            columns = -(-longest // MASK_COLUMNS) * MASK_COLUMNS
            ones = torch.ones(longest, columns, dtype=torch.bool, device=like.device)
            seen = ones.tril()
            if key[0]:
                seen &= ones.triu(1 - key[0])
            self._masks[key] = torch.zeros_like(seen, dtype=like.dtype).masked_fill_(
                ~seen, float("-inf")
            )
        return self._masks[key][n_seen : n_seen + n_own, : n_seen + n_own]


@contextmanager
def running(pack: Pack, device: torch.device) -> Iterator[PackAttention]:
    """Within it, layers that use this attention run the pack."""
    attention = PackAttention(pack, device)
    token = _current.set(attention)
    try:
        yield attention
    finally:
        _current.reset(token)


def packed_attention(
    module: torch.nn.Module,
    query: Tensor,  # (1, H, N, D)
    key: Tensor,  # (1, H_kv, N, D)
    value: Tensor,  # (1, H_kv, N, D)
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Return (1, N, H, D). `attention_mask` is not looked at: the pack says who sees whom."""
    current = _current.get()
    assert current is not None, "packed attention was called without a pack"
    current.n_calls += 1
    out = query.new_empty(1, query.shape[2], query.shape[1], value.shape[3])  # (1, N, H, D)
    shared_heads = query.shape[1] // key.shape[1]
    if shared_heads > 1:
        key = key.repeat_interleave(shared_heads, dim=1)
        value = value.repeat_interleave(shared_heads, dim=1)
    for s in current.pack.segments:
        k, v = _seen(key, s), _seen(value, s)
        rows = TILE_ROWS if query.device.type == "cpu" else s.end - s.start
        for start in range(s.start, s.end, rows):
            end = min(start + rows, s.end)
            q = query[:, :, start:end]
            n_seen = s.n_seen + start - s.start
            k_seen, v_seen = k[:, :, : n_seen + end - start], v[:, :, : n_seen + end - start]
            mask = current.mask(n_seen, end - start, sliding_window, q)
            if softcap is None:
                attended = F.scaled_dot_product_attention(
                    q, k_seen, v_seen, attn_mask=mask, scale=scaling
                )
            else:  # no kernel of PyTorch caps: softmax(c tanh(q k scale / c) + mask) v, in float32 at least
                scale = q.shape[-1] ** -0.5 if scaling is None else scaling
                weights = torch.tanh(q @ k_seen.transpose(2, 3) * scale / softcap) * softcap + mask
                precise = torch.promote_types(q.dtype, torch.float32)
                attended = torch.softmax(weights, dim=-1, dtype=precise).to(q.dtype) @ v_seen
            out[:, start:end] = attended.transpose(1, 2)
    return out, None


def _seen(states: Tensor, segment: Any) -> Tensor:
    """(1, H, seen + own, D): the stretches that a segment sees, in the text's order, and its own."""
    own = (segment.start, segment.end)
    stretches: list[tuple[int, int]] = []
    for start, end in (*segment.ancestors, own):
        if stretches and stretches[-1][1] == start:  # neighbours: one view, nothing copied
            start = stretches.pop()[0]
        stretches.append((start, end))
    parts = [states[:, :, start:end] for start, end in stretches]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=2)


@contextmanager
def attending(model: PreTrainedModel, name: str) -> Iterator[None]:
    """The model with another attention function, by its registered name; afterwards as it was.

    Raises:
        NotImplementedError: the architecture has an attention of its own.
    """
    if not model._can_set_attn_implementation():
        raise NotImplementedError("the model uses its own attention function")
    before = model.config._attn_implementation
    model.set_attn_implementation(name)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


AttentionInterface.register(NAME, packed_attention)
