"""A probe of the right forward strategy for an architecture: tried out, never assumed.

Sharing can be silently wrong (windows shorter than the text, ALiBi, state-space models, attention of an architecture's
own ...). So each strategy, from the fastest down, must first give what one text at a time gives: on a tiny model of the
same class and layers, with texts at least as long as the longest real one; then on real items, the longest among them,
under the real model. One that is asked for by name is tried out just so.

What was found out about a model is kept: other conditions and prompts, and later runs, need not try it again. A verdict is a
small file, named by a hash of all that it depends on; that is written into it too, and compared when it is read. One that is cut
off, changed or of another model is as good as none, and a disk that takes none is no obstacle.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedConfig, PreTrainedModel

from lib.files import write_file
from scoring.backends.causal_lm.head import Backbone, ChunkedHead, OwnHead
from scoring.backends.causal_lm.layout import Ids
from scoring.backends.causal_lm.loading import context_tokens
from scoring.backends.causal_lm.strategies import STRATEGIES, Groups, Head, Single, Strategy
from scoring.backends.causal_lm.trials import (
    EVERY,
    VOCABULARY,
    Trial,
    random_groups,
    real_groups,
    tiny_model,
)
from scoring.domain.backend import LogProbs, ScoringError

# A text so much longer than those that were tried on the real weights asks for another try
LEEWAY = 1.125


@dataclass(frozen=True)
class Verdict:
    """The names of a chosen strategy and head, why each faster strategy was not, and the longest text they were tried on."""

    strategy: str
    refused: dict[str, str]
    probed_on: str
    head: str
    longest: int


class Verdicts:
    """Verdicts on one model; `about` is all that they depend on but the texts. folder: None keeps them in memory alone."""

    def __init__(self, about: Mapping[str, Any], folder: Path | None = None) -> None:
        self.about = json.loads(json.dumps(about, default=str))
        self.folder = folder
        self._kept: dict[str, Verdict] = {}

    def find(self, longest: int, **question: Any) -> Verdict | None:
        """The verdict that is known for texts up to this length."""
        key = {**self.about, **question}
        name = _name(key)
        verdict = self._kept.get(name)
        if verdict is None and self.folder is not None:
            try:
                stored = json.loads((self.folder / name).read_text())
                verdict = Verdict(**stored["verdict"])
                texts = [verdict.strategy, verdict.probed_on, verdict.head]
                is_whole = (
                    stored["about"] == key
                    and isinstance(verdict.longest, int)
                    and isinstance(verdict.refused, dict)
                    and all(isinstance(text, str) for text in [*texts, *verdict.refused.values()])
                )
            except (OSError, ValueError, TypeError, KeyError):
                return None
            verdict = verdict if is_whole else None
        return verdict if verdict and longest <= LEEWAY * verdict.longest else None

    def keep(self, verdict: Verdict, **question: Any) -> None:
        """Write it down."""
        key = {**self.about, **question}
        name = _name(key)
        self._kept[name] = verdict
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"about": key, "verdict": asdict(verdict)}, indent=1, sort_keys=True)
            write_file(self.folder / name, text, durable=False)
        except OSError:
            return  # it is found out again


def code_version() -> str:
    """SHA-256 over the code that decides: another release may find otherwise."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _name(key: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:40] + ".json"


PROBE_TOKENS = 8192  # masks of tokens by tokens stay under 600 MB
STEP_TOKENS = (
    1024  # a verdict holds for all texts up to a multiple of it: on the tiny model they cost little
)
# A token wrongly seen costs a tiny model 1e-3 nat and more; rounding in float64 less than 1e-8, in float32 less than 1e-4
TINY_TOLERANCES_NATS = {torch.float64: 1e-6, torch.float32: 5e-4}
# On the real model, per precision: of one token's log-probability, and of a text's mean
TOLERANCES_NATS = {torch.float64: (1e-6, 1e-7), torch.float32: (5e-3, 1e-4)}
LOW_PRECISION_NATS = (2.0, 0.05)
# Between the model's own logits and those of the head's weights in chunks, over the largest of them: a log-probability of
# half precision says too little, since what it rounds off hides a factor or a cap
LOGITS_TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-5}
LOW_PRECISION_LOGITS = 2**-5
LARGE_LOGIT = (
    100.0  # a cap on logits is looked for here: it changes small ones by less than rounding does
)
TRIED_TOKENS = 16  # of a text, to see whether a model is causal and its head a plain one
ON_BOTH, ON_REAL, ON_NOTHING = "tiny model and real items", "real items", "its configuration"


@dataclass(frozen=True)
class Choice:
    """The strategy that was chosen, and why each faster one was not."""

    strategy: Strategy
    refused: dict[str, str]
    probed_on: str


def choose(
    model: PreTrainedModel, groups: Groups, forced: str = "", verdicts: Verdicts | None = None
) -> Choice:
    """Find the fastest strategy that is right for this model on texts like these.

    verdicts: what is known already, and where to write down what is found.

    Raises:
        ScoringError: the model is not causal, or the strategy `forced` is not right.
    """
    names = [strategy.name for strategy in STRATEGIES]
    if forced and forced not in names:
        raise ScoringError(f"strategy={forced}: choose one of {', '.join(names)}.")
    backbone = Backbone(model)
    longest = max(len(text) for group in groups for text in group)
    # Why texts cannot run together at all; empty where they may
    trained, one_by_one = _trained_lengths(model.config), ""
    if any(longest > length for length in trained):
        one_by_one = "positions depend on the longest text of a batch"
    elif longest > PROBE_TOKENS:
        one_by_one = f"texts of more than {PROBE_TOKENS} tokens are too long for the test"
    # The tiny model's texts go to the next step, but no further than the model takes or was trained on
    step = -(-longest // STEP_TOKENS) * STEP_TOKENS
    up_to = max(longest, min([step, context_tokens(model) or step, *trained]))
    question = {"forced": forced, "one_by_one": one_by_one, "up_to_tokens": up_to}
    known = verdicts.find(longest, **question) if verdicts else None
    if known is not None:
        heads: list[Head] = [OwnHead(backbone)]
        if _is_plain(backbone):
            heads.append(ChunkedHead(backbone.model, backbone.head))
        for kind, head in product(STRATEGIES, heads):
            if (kind.name, head.name) == (known.strategy, known.head):
                return Choice(kind(backbone, head), known.refused, known.probed_on)
    head = _choose_head(backbone, groups[0][0])
    choice = _try_out(backbone, head, groups, forced, one_by_one, up_to)
    if verdicts:
        name = choice.strategy.name
        found = Verdict(name, choice.refused, choice.probed_on, head.name, longest)
        verdicts.keep(found, **question)
    return choice


def _try_out(
    backbone: Backbone, head: Head, groups: Groups, forced: str, one_by_one: str, up_to: int
) -> Choice:
    """The first strategy that is right; on the tiny model first, where one can be made."""
    kinds = [kind for kind in STRATEGIES if forced in ("", kind.name)]
    if one_by_one:
        refused = {kind.name: one_by_one for kind in kinds if kind is not Single}
        tiny, probed_on = None, ON_NOTHING
    else:
        refused = {}
        tiny = None if forced == Single.name else _on_tiny(backbone.model, up_to)
        probed_on = ON_BOTH if tiny else ON_REAL
    real = real_groups(groups)
    last = [(n, len(group) - 1) for n, group in enumerate(real)]
    on_real = Trial(backbone, head, real, every=EVERY, checked=last)
    for kind in kinds:
        if kind.name in refused:
            continue
        reason = "" if kind is Single else _why_not(kind, tiny, on_real)
        if not reason:
            return Choice(kind(backbone, head), refused, probed_on)
        refused[kind.name] = reason
    raise ScoringError(f"strategy={forced} is not right for this model: {refused[forced]}.")


def _on_tiny(model: PreTrainedModel, up_to: int) -> Trial | None:
    """The trial on a tiny model; None where none can be made."""
    tiny = tiny_model(model)
    if tiny is None:
        return None
    backbone = Backbone(tiny)
    trial = Trial(
        backbone,
        OwnHead(backbone),
        random_groups(up_to, VOCABULARY),
        checked=[(0, 1), (1, 0), (1, 1)],
    )
    try:
        return trial if all_finite(trial.alone) else None
    except (torch.OutOfMemoryError, MemoryError, torch.AcceleratorError):
        raise
    except Exception:  # noqa: BLE001 (any architecture may need more than we know of)
        return None


def _why_not(kind: type[Strategy], tiny: Trial | None, real: Trial) -> str:
    """Why a strategy cannot be used; empty if it can."""
    if kind.shares and tiny is None:
        return "no small model of this configuration could be built for the test"
    if tiny is not None:
        gap = tiny.gap(kind)
        if gap.error:
            return gap.error
        if gap.of_token > TINY_TOLERANCES_NATS[tiny.backbone.model.dtype]:
            return f"off by {gap.of_token:.2g} nat on a small model of the same configuration"
    gap = real.gap(kind)
    if gap.error:
        return gap.error
    of_token, of_mean = TOLERANCES_NATS.get(real.backbone.model.dtype, LOW_PRECISION_NATS)
    if gap.of_token > of_token or gap.of_mean > of_mean:
        return f"off by {gap.of_token:.2g} nat on real items"
    return ""


def _trained_lengths(config: PreTrainedConfig) -> list[int]:
    """Lengths beyond which positions depend on the longest text of a batch (dynamic and long RoPE)."""
    text = config.get_text_config()
    rope = getattr(text, "rope_parameters", None) or {}
    # One set for all layers, or one for each type of layer
    sets = [rope, *(value for value in rope.values() if isinstance(value, dict))]
    return [
        int(one.get("original_max_position_embeddings") or text.max_position_embeddings)
        for one in sets
        if one.get("rope_type") in ("dynamic", "longrope")
    ]


def _is_plain(backbone: Backbone) -> bool:
    return type(backbone.head) is torch.nn.Linear and not backbone.head.weight.is_meta


def _choose_head(backbone: Backbone, text: Ids) -> Head:
    """The chunked head if it gives what the model's own gives, else that one.

    Raises:
        ScoringError: the model's log-probabilities of a text's beginning depend on its end.
    """
    own = OwnHead(backbone)
    begun = text[: max(TRIED_TOKENS // 2, 1)]
    # The same beginning twice, and then something else
    ids = torch.from_numpy(np.stack([np.append(begun, begun[::-1]), np.append(begun, begun)]))
    with torch.inference_mode():
        hidden = backbone.hidden(input_ids=ids.to(backbone.model.device), use_cache=False)
        rows = torch.arange(len(begun) - 1)
        rows = torch.cat([rows, ids.shape[1] + rows])
        targets = ids[:, 1 : len(begun)].flatten()
        both = hidden.flatten(0, 1)
        expected = own.logprobs(both, rows, targets)
        check_causal(backbone.model, *expected.view(2, -1).numpy())
        if not _is_plain(backbone):
            return own
        # The head's weights in chunks must give the model's own logits for hidden states (n, D), as they are and large
        chunked, states = ChunkedHead(backbone.model, backbone.head), both[rows]
        limit = LOGITS_TOLERANCES.get(backbone.model.dtype, LOW_PRECISION_LOGITS)
        largest = backbone.own_logits(states).abs().max().item()
        for scale in {1.0, max(1.0, LARGE_LOGIT / largest) if largest > 0 else 1.0}:
            logits = backbone.own_logits(scale * states)
            try:
                gap = (chunked.logits(scale * states).to(logits.device) - logits).abs().max()
            except RuntimeError:
                return own
            if not gap <= limit * logits.abs().max():  # nor where one is no number
                return own
        return chunked


def check_causal(model: PreTrainedModel, whole: LogProbs, begun: LogProbs) -> None:
    """Refuse a model whose log-probabilities of a text's beginning depend on its end.

    Raises:
        ScoringError: it is not causal.
    """
    gap = np.abs(whole - begun)
    limit = 0.01 if model.dtype in TOLERANCES_NATS else 10 * LOW_PRECISION_NATS[1]
    if np.isfinite(gap).all() and gap.max(initial=0.0) > limit:
        raise ScoringError(
            f"{type(model).__name__} uses the words after each word, so it is not a causal language model."
        )


def all_finite(result: Sequence[LogProbs]) -> bool:
    """True if every scored token of these texts has a finite log-probability."""
    return all(bool(np.isfinite(text[1:]).all()) for text in result)
