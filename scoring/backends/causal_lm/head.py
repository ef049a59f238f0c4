"""From hidden states to the log-probabilities of given tokens, without a table of (tokens, vocabulary).

The vocabulary is run through in chunks with an online log-sum-exp: float32 logits (float64 of a float64 model) in one
reused buffer, sums in float64. What an architecture does to its logits after the head (scaling, soft-capping) is done to each chunk; a model
whose own logits differ from that is scored by its own head, a few rows at a time.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from scoring.backends.causal_lm.precision import make_precise, precisely
from scoring.domain.backend import ScoringError

VOCABULARY_CHUNK = 4096
ROWS = 2048  # of the buffer: 2048 x 4096 float32 = 32 MiB
CACHED_ROWS = 64  # x 4096 float32 = 1 MiB
OWN_LOGITS_BYTES = 64 * 2**20  # of logits at a time, where the model's own head is used
Transform = Callable[[Tensor], Tensor]


class StandIn(nn.Module):
    """Stands in the head's place; has the head's weight, since some models look at its dtype."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    @property
    def weight(self) -> Tensor:
        return cast(Tensor, self.head.weight)


class CaptureHidden(StandIn):
    """Keeps what the head would have been given."""

    hidden: Tensor | None = None

    def forward(self, hidden: Tensor) -> Tensor:
        self.hidden = hidden
        return hidden[..., :1]


class GivenHidden(StandIn):
    """Gives the head what we hold, whatever the model computed."""

    def __init__(self, head: nn.Module, hidden: Tensor) -> None:
        super().__init__(head)
        self.hidden = hidden

    def forward(self, _: Tensor) -> Tensor:
        logits: Tensor = self.head(self.hidden)
        return logits[None]


class Backbone:
    """A model up to its head, and its head with all that the model does to logits."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.head = model.get_output_embeddings()  # type: ignore[no-untyped-call]
        places = [name for name, module in model.named_modules() if module is self.head]
        if self.head is None or not places:
            raise ScoringError(
                f"{type(model).__name__} does not have a separate output layer and cannot be scored here."
            )
        parent, _, self._name = places[0].rpartition(".")
        self._parent = model.get_submodule(parent)
        make_precise(model)

    def hidden(self, **inputs: object) -> Tensor:
        """(B, T, D) what the head is given, by the model's own forward.

        Raises:
            ScoringError: it is given something else.
        """
        capture = CaptureHidden(self.head)
        self._run_with(capture, **inputs)
        assert capture.hidden is not None
        if capture.hidden.dim() != 3:  # ProphetNet's predicts the next token and those after it
            raise ScoringError(
                f"{type(self.model).__name__} predicts more than the next token at each place, and cannot be scored here."
            )
        return capture.hidden

    def hidden_and_cache(self, **inputs: object) -> tuple[Tensor, dict[str, Any]]:
        """The same, and the cache that the model returns, by the name under which it takes one; empty if it has none."""
        capture = CaptureHidden(self.head)
        outputs = self._run_with(capture, use_cache=True, **inputs)
        assert capture.hidden is not None
        caches = {name: outputs.get(name) for name in ("past_key_values", "cache_params")}
        return capture.hidden, {name: cache for name, cache in caches.items() if cache is not None}

    def own_logits(self, hidden: Tensor) -> Tensor:
        """(n, V) logits of hidden states (n, D) as the model's forward makes them, transformations included."""
        any_token = torch.zeros(1, 1, dtype=torch.long, device=self.model.device)
        given = GivenHidden(self.head, hidden)
        logits: Tensor = self._run_with(given, input_ids=any_token, use_cache=False).logits
        return logits[0]

    def _run_with(self, head: nn.Module, **inputs: object) -> Any:
        setattr(self._parent, self._name, head)
        try:
            with precisely(self.model):
                return self.model(**inputs)
        finally:
            setattr(self._parent, self._name, self.head)


def logit_transform(model: PreTrainedModel) -> Transform:
    """The changes that the architectures we know make to their logits after the head, in place."""
    config = model.config.get_text_config()
    cap = getattr(config, "final_logit_softcapping", None) or getattr(
        config, "logits_soft_cap", None
    )
    multiply = getattr(config, "logit_scale", None) or getattr(config, "lm_head_multiplier", None)
    divide = getattr(config, "logits_scaling", None)

    def transform(logits: Tensor) -> Tensor:
        if isinstance(multiply, int | float):
            logits.mul_(multiply)
        if isinstance(divide, int | float):
            logits.div_(divide)
        if cap:
            logits.div_(cap).tanh_().mul_(cap)
        return logits

    return transform


class ChunkedHead:
    """Log-probabilities from a linear head's weights, chunk by chunk of the vocabulary."""

    name = f"chunks of {VOCABULARY_CHUNK}"

    def __init__(self, model: PreTrainedModel, head: nn.Linear) -> None:
        self.weight, self.bias = head.weight, head.bias  # (V, D), (V,) or None
        self.transform = logit_transform(model)
        self._buffers: dict[torch.dtype, Tensor] = {}

    def logprobs(self, hidden: Tensor, rows: Tensor, targets: Tensor) -> Tensor:
        """(M,) float64: log p(target | row) for M pairs of a row of `hidden` (N, D) and a token id.

        Rows that predict two texts' tokens are normalised once.
        """
        hidden = hidden.to(self.weight.device)
        rows, targets = rows.to(hidden.device), targets.to(hidden.device)
        out = torch.empty(len(rows), dtype=torch.float64, device=hidden.device)
        for start in range(0, len(hidden), ROWS):
            chosen = ((rows >= start) & (rows < start + ROWS)).nonzero()[:, 0]
            if len(chosen):
                part = hidden[start : start + ROWS]
                out[chosen] = self._of_rows(part, rows[chosen] - start, targets[chosen])
        return out.cpu()

    def logits(self, hidden: Tensor) -> Tensor:
        """(n, V) of hidden states (n, D), few enough for a table."""
        hidden, v = hidden.to(self.weight.device), len(self.weight)
        starts = range(0, v, VOCABULARY_CHUNK)
        chunks = (self._logits(hidden, n, min(n + VOCABULARY_CHUNK, v)).clone() for n in starts)
        return torch.cat(list(chunks), dim=1)

    def _of_rows(self, hidden: Tensor, rows: Tensor, targets: Tensor) -> Tensor:
        n, v = len(hidden), len(self.weight)
        by_token = torch.argsort(targets)  # each chunk's targets are then neighbours
        edges = torch.arange(0, v + VOCABULARY_CHUNK, VOCABULARY_CHUNK, device=targets.device)
        cuts = torch.searchsorted(targets[by_token], edges).tolist()
        target_logits = torch.empty(len(rows), dtype=torch.float64, device=hidden.device)
        precise = torch.float64 if self.weight.dtype is torch.float64 else torch.float32
        highest = torch.full((n,), float("-inf"), dtype=precise, device=hidden.device)  # (n,)
        total = torch.zeros(n, dtype=torch.float64, device=hidden.device)  # of exp(logit - highest)
        step = CACHED_ROWS if hidden.device.type == "cpu" else n
        for c, start in enumerate(range(0, v, VOCABULARY_CHUNK)):
            logits = self._logits(hidden, start, min(start + VOCABULARY_CHUNK, v))  # (n, <= chunk)
            mine = by_token[cuts[c] : cuts[c + 1]]
            target_logits[mine] = logits[rows[mine], targets[mine] - start].double()
            # Added to the running sums in place, which spends the logits; these are gone over several times, on a CPU
            # as many rows at once as a core's cache holds
            for first in range(0, n, step):
                part = slice(first, first + step)
                own, known = logits[part], highest[part]  # (rows, <= chunk), (rows,)
                new = torch.maximum(known, own.amax(1))
                total[part].mul_(torch.exp((known - new).double())).add_(
                    own.sub_(new[:, None]).exp_().sum(1)
                )
                known.copy_(new)
        return target_logits - (highest.double() + total.log())[rows]

    def _logits(self, hidden: Tensor, start: int, stop: int) -> Tensor:
        """(n, stop - start) logits, float32 at least, in a buffer that the next call overwrites."""
        weight = self.weight[start:stop]
        n, m = len(hidden), stop - start
        buffer = self._buffers.get(weight.dtype)
        if buffer is None or buffer.numel() < n * m:
            self._buffers[weight.dtype] = buffer = weight.new_empty(n * m)
        logits = buffer[: n * m].view(n, m)
        torch.mm(hidden.to(weight.dtype), weight.T, out=logits)
        if self.bias is not None:
            logits.add_(self.bias[start:stop])
        if logits.dtype.itemsize < torch.float32.itemsize:
            logits = logits.float()
        return self.transform(logits)


class OwnHead:
    """Log-probabilities from the model's own head and whatever it does to its logits, a few rows at a time."""

    name = "the model's own"

    def __init__(self, backbone: Backbone) -> None:
        self.backbone = backbone

    def logprobs(self, hidden: Tensor, rows: Tensor, targets: Tensor) -> Tensor:
        """(M,) float64: as ChunkedHead.logprobs."""
        out = torch.empty(len(rows), dtype=torch.float64)
        step = max(
            1, OWN_LOGITS_BYTES // (4 * self.backbone.model.config.get_text_config().vocab_size)
        )
        for start in range(0, len(rows), step):
            stop = start + step
            logits = self.backbone.own_logits(hidden[rows[start:stop]])  # (step, V)
            picked = logits[torch.arange(len(logits)), targets[start:stop].to(logits.device)]
            out[start:stop] = (picked.double() - torch.logsumexp(logits.double(), 1)).cpu()
        return out
