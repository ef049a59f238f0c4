"""Forward strategies: five ways to run texts through a model, the fastest first, the surest last.

All give, for each text of each group, (T,) float64 log-probabilities with NaN first.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from scoring.backends.causal_lm import attention, layout
from scoring.backends.causal_lm.head import Backbone, ChunkedHead, OwnHead
from scoring.backends.causal_lm.layout import Ids
from scoring.domain.backend import LogProbs

Groups = Sequence[Sequence[Ids]]
Head = ChunkedHead | OwnHead
# Where a text's predictions are found: rows of the hidden states (T - 1,)
Rows = Sequence[Sequence[Tensor]]


class Strategy(ABC):
    """One way to run groups of texts."""

    name: ClassVar[str]
    shares: ClassVar[bool]  # do texts share computation, so that one could spoil another?

    def __init__(self, backbone: Backbone, head: Head, every: int = 1) -> None:
        """every: of how many positions one is looked up; the others, and each text's first, are NaN."""
        self.backbone, self.head, self.every = backbone, head, every
        self.device = backbone.model.device

    @abstractmethod
    def logprobs(self, groups: Groups) -> list[list[LogProbs]]:
        """Those of all texts, in inference mode."""

    @abstractmethod
    def plan(self, groups: Groups, batch_tokens: int) -> list[list[int]]:
        """The groups that go through the model together."""

    def _read(self, hidden: Tensor, rows: Rows, groups: Groups) -> list[list[LogProbs]]:
        """Log-probabilities of all texts from hidden states (N, D) and the rows that predict their tokens."""
        texts = [text for group in groups for text in group]
        # From the end: a text's last token has seen all that was to be seen
        chosen = [np.arange(len(text) - 1, 0, -self.every)[::-1].copy() for text in texts]
        at = [r[c - 1] for r, c in zip((r for group in rows for r in group), chosen, strict=True)]
        targets = [torch.from_numpy(text[c]) for text, c in zip(texts, chosen, strict=True)]
        looked_up = torch.cat(at)
        if self.every > 1:
            used, looked_up = torch.unique(looked_up, return_inverse=True)
            hidden = hidden[used.to(hidden.device)]
        values = self.head.logprobs(hidden, looked_up, torch.cat(targets)).numpy()
        parts = iter(np.split(values, np.cumsum([len(c) for c in chosen])[:-1]))
        places = iter(chosen)

        def of_text(text: Ids) -> LogProbs:
            logprobs = np.full(len(text), np.nan)
            logprobs[next(places)] = next(parts)
            return logprobs

        return [[of_text(text) for text in group] for group in groups]

    def _ids(self, ids: Ids) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(ids)).to(self.device)


class _Tree(Strategy):
    """Runs a pack; a subclass defines which token sees which."""

    shares = True

    def plan(self, groups: Groups, batch_tokens: int) -> list[list[int]]:
        return layout.plan_packs(groups, batch_tokens)

    def logprobs(self, groups: Groups) -> list[list[LogProbs]]:
        with torch.inference_mode():
            pack = layout.lay_out(groups)
            hidden = self._hidden(pack)[0]  # (N, D)
            rows = [[torch.from_numpy(path[:-1]) for path in group] for group in pack.paths]
            return self._read(hidden, rows, groups)

    @abstractmethod
    def _hidden(self, pack: layout.Pack) -> Tensor: ...


class Packed(_Tree):
    """Everything shared, one attention call per segment; needs a model that asks for attention by name."""

    name = "packed"

    def _hidden(self, pack: layout.Pack) -> Tensor:
        model = self.backbone.model
        with (
            attention.attending(model, attention.NAME),
            attention.running(pack, self.device) as running,
        ):
            hidden = self.backbone.hidden(
                input_ids=self._ids(pack.ids)[None],
                position_ids=self._ids(pack.positions)[None],
                use_cache=False,
            )
        if not running.n_calls:
            raise NotImplementedError(
                "the model does not use the attention function that it receives"
            )
        return hidden


class Mask(_Tree):
    """Everything shared, one attention call with a mask of (tokens, tokens)."""

    name = "mask"

    def _hidden(self, pack: layout.Pack) -> Tensor:
        dtype = self.backbone.model.dtype
        allowed = torch.from_numpy(pack.allowed()).to(self.device)
        mask = torch.zeros(allowed.shape, dtype=dtype, device=self.device)
        mask.masked_fill_(~allowed, torch.finfo(dtype).min)
        return self.backbone.hidden(
            input_ids=self._ids(pack.ids)[None],
            attention_mask=mask[None, None],
            position_ids=self._ids(pack.positions)[None],
            use_cache=False,
        )


class PrefixCache(Strategy):
    """Group by group: what its texts share once, with the model's own cache; then the rests, as a padded batch if they may."""

    name = "cache"
    shares = True

    def plan(self, groups: Groups, batch_tokens: int) -> list[list[int]]:
        return [[n] for n in range(len(groups))]

    def logprobs(self, groups: Groups) -> list[list[LogProbs]]:
        with torch.inference_mode():
            results = []
            for group in groups:
                shared = min(layout.shared_length(group), min(len(text) for text in group) - 1)
                if shared < 1:  # two versions that differ in their first token
                    results += Single(self.backbone, self.head, self.every).logprobs([group])
                    continue
                begun = self._ids(group[0][:shared])[None]
                first, cache = self.backbone.hidden_and_cache(input_ids=begun)
                if not cache:
                    raise NotImplementedError("the model returns no cache")
                rests = [text[shared:] for text in group]
                cache = deepcopy(cache)
                layers = [
                    layer for one in cache.values() for layer in getattr(one, "layers", [one])
                ]
                if any(
                    hasattr(layer, "conv_states") or not hasattr(layer, "batch_repeat_interleave")
                    for layer in layers
                ):  # a recurrent state stands for one text
                    parts = [self._rests([rest], shared, deepcopy(cache))[0] for rest in rests]
                else:
                    for one in cache.values():
                        one.batch_repeat_interleave(len(group))
                    parts = [self._rests(rests, shared, cache).flatten(0, 1)]
                # What predicts a text's tokens: the shared rows, and its own behind them
                hidden = torch.cat([first[0], *parts])
                starts = np.cumsum([shared, *(len(part) for part in parts)])
                if len(parts) < len(group):
                    starts = shared + np.arange(len(group)) * (len(parts[0]) // len(group))
                own = [
                    torch.arange(len(r) - 1) + int(at) for r, at in zip(rests, starts, strict=False)
                ]
                rows = [torch.cat([torch.arange(shared), r]) for r in own]
                results += self._read(hidden, [rows], [group])
            return results

    def _rests(self, rests: Sequence[Ids], shared: int, cache: dict[str, Any]) -> Tensor:
        """(B, R, D) hidden states of what comes after the cached beginning."""
        ids, mask = _pad(rests)  # (B, R)
        if mask.all() and len(rests) == 1:  # recurrent layers know no mask of what is behind them
            return self.backbone.hidden(input_ids=self._ids(ids), **cache)
        mask = np.concatenate([np.ones((len(rests), shared), dtype=np.int64), mask], axis=1)
        return self.backbone.hidden(
            input_ids=self._ids(ids), attention_mask=self._ids(mask), **cache
        )


class Padded(Strategy):
    """Nothing shared: texts of like length side by side, padded on the right."""

    name = "padded"
    shares = False

    def plan(self, groups: Groups, batch_tokens: int) -> list[list[int]]:
        return layout.plan_padded([[len(t) for t in group] for group in groups], batch_tokens)

    def logprobs(self, groups: Groups) -> list[list[LogProbs]]:
        with torch.inference_mode():
            texts = [text for group in groups for text in group]
            ids, mask = _pad(texts)
            hidden = self.backbone.hidden(
                input_ids=self._ids(ids), attention_mask=self._ids(mask), use_cache=False
            )  # (B, T, D)
            starts = iter(range(0, ids.size, ids.shape[1]))
            rows = [
                [next(starts) + torch.arange(len(text) - 1) for text in group] for group in groups
            ]
            return self._read(hidden.flatten(0, 1), rows, groups)


class Single(Strategy):
    """One text, one forward pass: the reference for all others."""

    name = "single"
    shares = False

    def plan(self, groups: Groups, batch_tokens: int) -> list[list[int]]:
        return [[n] for n in range(len(groups))]

    def logprobs(self, groups: Groups) -> list[list[LogProbs]]:
        with torch.inference_mode():
            results: list[list[LogProbs]] = []
            for group in groups:
                results.append([])
                for text in group:
                    hidden = self.backbone.hidden(input_ids=self._ids(text)[None], use_cache=False)[
                        0
                    ]
                    results[-1] += self._read(hidden, [[torch.arange(len(text) - 1)]], [[text]])[0]
            return results


STRATEGIES: tuple[type[Strategy], ...] = (Packed, Mask, PrefixCache, Padded, Single)


def _pad(texts: Sequence[Ids]) -> tuple[Ids, Ids]:
    """(B, T) ids and mask, padded on the right. What stands there is never seen: any id will do."""
    longest = max(len(text) for text in texts)
    ids = np.zeros((len(texts), longest), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    return ids, mask
