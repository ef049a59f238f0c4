"""Scores with a causal language model loaded here, through transformers."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from transformers import PreTrainedModel

from scoring.backends.causal_lm.layout import Ids
from scoring.backends.causal_lm.loading import context_tokens, load
from scoring.backends.causal_lm.precision import fused_gelu
from scoring.backends.causal_lm.probe import Choice, Verdicts, all_finite, choose, code_version
from scoring.backends.causal_lm.strategies import Single, Strategy
from scoring.backends.tokenizers import load_tokenizer, source_of, tokenizer_hash
from scoring.domain.backend import Group, GroupResult, LogProbs, ScoringError, TextError

# Written for this project; any model of English finds them likelier than chance
SENTENCES = (
    "Light falls on the retina, and the cells there turn it into signals.",
    "A short walk before breakfast can lift the mood for many hours.",
    "Water boils at a lower temperature on a high mountain, so that cooking takes longer.",
)
# A small trained model reads its own tokens at 0.8 of chance and others' above it; a random one reads any at chance
NEAR_CHANCE = 0.9
Score = Callable[[Sequence[Ids]], Sequence[LogProbs]]


def tokenizer_warning(score: Score, vocabulary: int, named: Any, own: Any | None) -> str:
    """Why a tokenizer that was named does not seem to belong to the model, in a sentence; empty if nothing says so.

    Near chance is a mean of at least 0.9 ln(vocabulary) nats a token. Without the model's own tokenizer to compare
    with, that alone is said; with it, only where the own one does better, so that a model that knows nothing (one with
    random weights) is not held against its tokenizer.

    Args:
        score: (T,) log-probabilities, NaN first, of each text (T,).
        vocabulary: how many tokens the model knows.
        named: the tokenizer that was asked for.
        own: the one that comes with the model, if any.
    """
    if (surprise := _surprise(score, vocabulary, named)) is None:
        return f"The tokenizer has more than the model's {vocabulary} tokens, so it belongs to another model."
    chance = math.log(vocabulary)
    if surprise < NEAR_CHANCE * chance:
        return ""
    if own is None:
        return (
            "The model's loss on plain English is about that of chance. The tokenizer may belong to another model, or the "
            "model may be untrained."
        )
    known = _surprise(score, vocabulary, own)
    if known is None or known >= NEAR_CHANCE * chance:
        return ""
    return (
        "With this tokenizer, the model's loss on plain English is about that of chance, but with its own tokenizer it "
        "is not. The tokenizer belongs to another model."
    )


def _surprise(score: Score, vocabulary: int, tokenizer: Any) -> float | None:
    """Nats per token of the sentences; None if they hold a token that the model does not know."""
    texts = [np.array(tokenizer(s)["input_ids"], np.int64) for s in SENTENCES]
    if max(int(ids.max()) for ids in texts) >= vocabulary:
        return None
    return -float(np.concatenate([logprobs[1:] for logprobs in score(texts)]).mean())


LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "peft", "accelerate", "numpy")
# transformers computes with them by itself where they are installed
KERNELS = ("causal-conv1d", "flash-attn", "flash-linear-attention", "kernels", "mamba-ssm")
# Distinct tokens of a batch: enough for matrix products at full speed, few enough for caches and memory
BATCH_TOKENS = {"cpu": 2048, "cuda": 16384}


@contextmanager
def gpu_errors_said() -> Iterator[None]:
    """An error after which this process can use the GPU no more ends the run with a sentence."""
    try:
        yield
    except torch.AcceleratorError as error:
        said = str(error).partition("\n")[0]
        raise ScoringError(
            f"The GPU failed: {said}. Start the command or the worker again. If it fails again, add strategy=single, which is slower."
        ) from error


class TransformersBackend:
    """A model in this process. `args`: pretrained, dtype, revision, peft, tokenizer, device, device_map, ..."""

    kind = "transformers"

    def __init__(self, args: Mapping[str, str]) -> None:
        self.args = dict(args)
        loaded = load(args)
        self.model, self.provenance = loaded.model, loaded.provenance
        self.tokenizer = load_tokenizer(*source_of(args))
        embeddings = cast(torch.nn.Embedding, self.model.get_input_embeddings())
        self.vocabulary = int(embeddings.weight.shape[0])
        self.context_tokens = context_tokens(self.model)
        self.choice: Choice | None = None
        self.warnings: list[str] | None = None  # not looked for yet
        # All that a verdict on strategies depends on: everything but the model's name
        placed = {name: self.args.get(name, "") for name in ("device_map", "quantization")}
        about = {
            **self._described(),
            **placed,
            "device_name": self._device_name(),
            "kernels": installed_kernels(),
            "code": code_version(),
        }
        about = {name: value for name, value in about.items() if name not in ("model", "adapter")}
        self.verdicts = Verdicts(about, kept_in())

    @property
    def device(self) -> torch.device:
        return self.model.device

    def identity(self) -> dict[str, Any]:
        """Everything that decides the numbers; `machine` says where they were made and may differ."""
        choice = self.choice
        return {
            "backend": self.kind,
            **self._described(),
            "tokenizer_sha256": tokenizer_hash(self.tokenizer),
            "n_parameters": sum(p.numel() for p in self.model.parameters()),
            # Two names as older runs store them: a run goes on where its identity is the same
            "rung": choice.strategy.name if choice else "",
            "rungs_refused": choice.refused if choice else {},
            "probed_on": choice.probed_on if choice else "",
            "head": choice.strategy.head.name if choice else "",
            "context_tokens": self.context_tokens,
            "batch_tokens_auto": BATCH_TOKENS.get(self.device.type, BATCH_TOKENS["cpu"]),
            # Absent where there are none, so that older runs without any go on
            **({"kernels": kernels} if (kernels := installed_kernels()) else {}),
            **({"warnings": self.warnings} if self.warnings else {}),
            "machine": {"device": self._device_name(), "threads": torch.get_num_threads()},
        }

    def _described(self) -> dict[str, Any]:
        return {**self.provenance, **described(self.model)}

    def _device_name(self) -> str:
        return torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "cpu"

    def prepare(self, groups: Sequence[Group]) -> None:
        """Choose the strategy on groups that can be scored, the longest among them; what is known is not tried again."""
        refused = [self._refuse(group) for group in groups]
        ids = [
            [text.ids for text in group]
            for group, why in zip(groups, refused, strict=True)
            if why is None
        ]
        if not ids:
            why = next((str(why[0]) for why in refused if why), "is missing")
            raise ScoringError(f"This model cannot score any of the texts: the first one {why}.")
        forced = self.args.get("strategy", "")
        try:
            with gpu_errors_said(), fused_gelu(self.model):
                self.choice = choose(self.model, ids, forced, self.verdicts)
                if self.warnings is None:
                    self.warnings = self._warnings(self.choice.strategy)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise ScoringError("Memory ran out while the model was tested.") from error

    def _warnings(self, strategy: Strategy) -> list[str]:
        """Warnings for the person who asked for this model; a tokenizer is looked at where it is not the model's own."""
        if source_of(self.args)[0] == self.args["pretrained"]:
            return []
        try:
            own = load_tokenizer(self.args["pretrained"], self.args.get("revision"))
        except ScoringError:
            own = None
        if own is not None and tokenizer_hash(own) == tokenizer_hash(self.tokenizer):
            return []
        single = Single(strategy.backbone, strategy.head)

        def score(texts: Sequence[Ids]) -> list[LogProbs]:
            return [result[0] for result in single.logprobs([[text] for text in texts])]

        sentence = tokenizer_warning(score, self.vocabulary, self.tokenizer, own)
        return [sentence] if sentence else []

    def plan(self, groups: Sequence[Group], batch_tokens: int | None) -> list[list[int]]:
        assert self.choice is not None, "prepare() comes before plan()"
        budget = batch_tokens or BATCH_TOKENS.get(self.device.type, BATCH_TOKENS["cpu"])
        return self.choice.strategy.plan([[text.ids for text in group] for group in groups], budget)

    def score(self, groups: Sequence[Group]) -> list[GroupResult]:
        assert self.choice is not None, "prepare() comes before score()"
        results: list[GroupResult | None] = [self._refuse(group) for group in groups]
        open_ = [n for n, result in enumerate(results) if result is None]
        if open_:
            ids = [[text.ids for text in groups[n]] for n in open_]
            strategy = self.choice.strategy
            alone = Single(strategy.backbone, strategy.head)
            with gpu_errors_said(), fused_gelu(self.model):
                try:
                    found = strategy.logprobs(ids)
                except (RuntimeError, MemoryError) as error:
                    if not is_out_of_memory(error):
                        raise
                    found = []
                if strategy.shares and not all(all_finite(result) for result in found):
                    found = alone.logprobs(ids)  # one text's NaN may have spread
                scored: list[GroupResult] = [
                    [_checked(logprobs) for logprobs in result] for result in found
                ]
                if not found:  # the texts that are too large for memory are found one at a time
                    scored = [[_one(alone, text) for text in group] for group in ids]
            for n, result in zip(open_, scored, strict=True):
                results[n] = result
        return [result for result in results if result is not None]

    def _refuse(self, group: Group) -> GroupResult | None:
        """Why a group cannot be scored at all; None if it can."""
        problems = []
        for ids in (text.ids for text in group):
            problem = ""
            if len(ids) < 2:
                problem = "has no token to score"
            elif self.context_tokens and len(ids) > self.context_tokens:
                problem = f"has {len(ids)} tokens, but the model's window has {self.context_tokens}"
            elif int(ids.max()) >= self.vocabulary or int(ids.min()) < 0:
                problem = (
                    f"has the token {int(ids.max())}, but the model has {self.vocabulary} tokens"
                )
            problems.append(problem)
        first = next((problem for problem in problems if problem), "")
        return [TextError(problem or first) for problem in problems] if first else None

    def close(self) -> None:
        self.choice = None
        self.__dict__.pop("model", None)
        if torch.cuda.is_available():
            with suppress(torch.AcceleratorError):  # what broke the GPU has been raised
                torch.cuda.empty_cache()


def described(model: PreTrainedModel) -> dict[str, Any]:
    """The way in which a loaded model computes, for an identity."""
    has_experts = model._can_set_experts_implementation()
    return {
        "architecture": type(model).__name__,
        "attention": str(model.config._attn_implementation),
        **({"experts": str(model.config._experts_implementation)} if has_experts else {}),
        "device": model.device.type,
        "libraries": {name: version(name) for name in LIBRARIES},
    }


def installed_kernels() -> dict[str, str]:
    return {name: found for name in KERNELS if (found := _installed(name))}


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def kept_in() -> Path | None:
    """Where verdicts are kept; nowhere in a program without the site's settings."""
    from django.conf import settings  # here, so that the module can be imported without settings
    from django.core.exceptions import ImproperlyConfigured

    try:
        return Path(settings.VAR_DIR) / "strategies"
    except (ImproperlyConfigured, AttributeError):
        return None


def _checked(logprobs: LogProbs) -> LogProbs | TextError:
    wrong = np.flatnonzero(~np.isfinite(logprobs[1:]))
    if not wrong.size:
        return logprobs
    at = int(wrong[0]) + 1
    return TextError(f"the model gives {logprobs[at]} as log-probability of token {at + 1}")


def _one(single: Single, text: Ids) -> LogProbs | TextError:
    try:
        return _checked(single.logprobs([[text]])[0][0])
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return TextError(f"has {len(text)} tokens, for which memory is not sufficient")


def is_out_of_memory(error: BaseException) -> bool:
    """True if memory ran out: a GPU has an exception of its own for it, a CPU only says so."""
    said = str(error)
    return (
        isinstance(error, torch.OutOfMemoryError | MemoryError)
        or "can't allocate memory" in said
        or "not enough memory" in said
    )
