"""Scores texts with vLLM in this process: many texts at once on one or several GPUs, without a server.

vLLM is no part of the requirements: it brings a torch of its own. The numbers are those of `prompt_logprobs`, and must
stand the same probe as a server's. docs/models.md says what has been tried.
"""

import logging
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scoring.backends.completions.answers import Answer, AnswerError, text_logprobs
from scoring.backends.completions.probe import probe
from scoring.backends.options import engine_args
from scoring.backends.reading import in_order
from scoring.backends.tokenizers import load_tokenizer, tokenizer_hash
from scoring.domain.backend import Group, GroupResult, LogProbs, ScoringError, TextError, TokenText

logger = logging.getLogger(__name__)

TOKENS_PER_BATCH = 65_536
# The token's own number and, if it is another, the likeliest one's; one token is generated for the probe
SAMPLING = {"temperature": 0.0, "max_tokens": 1, "prompt_logprobs": 1, "logprobs": 1}
MISSING = (
    "vLLM is not installed. Install it in a separate environment (it brings its own torch), or score through its "
    "server (docs/models.md)."
)


class VllmBackend:
    """A model in vLLM's `LLM`; `remarks` holds what the probe found that scores can suffer from."""

    kind = "vllm"

    def __init__(self, args: Mapping[str, str]) -> None:
        self._args = engine_args(args)
        try:
            vllm: Any = import_module("vllm")  # no requirement, and so not known to a type checker
        except ImportError as error:
            raise ScoringError(MISSING, option="--model") from error
        self._vllm = vllm
        self._weights_sha256 = _weights_sha256(Path(self._args["model"]).expanduser())
        tokenizer = self._args.get("tokenizer", self._args["model"])
        self.tokenizer: Any = load_tokenizer(tokenizer, self._args.get("tokenizer_revision"))
        try:
            self._engine: Any = vllm.LLM(**self._args)
        except Exception as error:  # (its own errors, torch's and CUDA's)
            raise ScoringError(
                f"vLLM could not load {self._args['model']}: {_short(error)}."
            ) from error
        self._config: Any = self._engine.llm_engine.model_config
        # One token is generated after the text, and needs its place
        self.context_tokens: int | None = int(self._config.max_model_len) - 1
        self.remarks: list[str] = []

    def identity(self) -> Mapping[str, Any]:
        """Everything that decides the numbers, as far as vLLM says it; the hash of the weights where they lie in a folder."""
        return {
            "backend": self.kind,
            "model": self._args["model"],
            "revision": self._args.get("revision"),
            "weights_sha256": self._weights_sha256,
            "tokenizer": self._args.get("tokenizer", self._args["model"]),
            "tokenizer_sha256": tokenizer_hash(self.tokenizer),
            "dtype": str(self._config.dtype).removeprefix("torch."),
            "quantization": self._args.get("quantization"),
            "tensor_parallel_size": self._args.get("tensor_parallel_size", 1),
            "pipeline_parallel_size": self._args.get("pipeline_parallel_size", 1),
            "context_tokens": self.context_tokens,
            **dict.fromkeys(("attention", "device")),  # chosen within, and not told
            "request": SAMPLING,
            "libraries": {
                "vllm": self._vllm.__version__,
                **{name: version(name) for name in ("torch", "transformers")},
            },
        }

    def prepare(self, groups: Sequence[Group]) -> None:
        """Probe the engine as a server is probed."""
        fitting = [text.ids.tolist() for group in groups for text in group if self._fits(text)]
        try:
            self.remarks = probe(
                lambda prompts, _: self._ask(prompts),
                self.tokenizer,
                max(fitting, key=len, default=None),
            )
        except AnswerError as error:
            raise ScoringError(f"vLLM {error}.") from error
        for remark in self.remarks:
            logger.warning(remark)

    def plan(self, groups: Sequence[Group], batch_tokens: int | None) -> list[list[int]]:
        """Groups in their order: the engine itself decides what it computes together."""
        return in_order(groups, batch_tokens or TOKENS_PER_BATCH)

    def score(self, groups: Sequence[Group]) -> list[GroupResult]:
        """All texts of the batch in one call."""
        texts = [text for group in groups for text in group]
        try:
            answers = iter(self._ask([text.ids.tolist() for text in texts if self._fits(text)]))
        except AnswerError as error:
            raise ScoringError(f"vLLM {error}.") from error
        results: list[LogProbs | TextError] = []
        for text in texts:
            if not self._fits(text):
                n = len(text.ids)
                what = f"has {n:,} tokens, but the model accepts {self.context_tokens:,}"
                results.append(TextError(what if n else "has no token"))
                continue
            try:
                results.append(text_logprobs(next(answers)))
            except TextError as error:
                results.append(error)
        in_turn = iter(results)
        return [[next(in_turn) for _ in group] for group in groups]

    def close(self) -> None:
        """Let go of the engine and its memory."""
        self._engine = None

    def _fits(self, text: TokenText) -> bool:
        return 0 < len(text.ids) <= (self.context_tokens or 0)

    def _ask(self, prompts: Sequence[list[int]]) -> list[Answer]:
        if not prompts:
            return []
        try:
            outputs = self._engine.generate(
                [self._vllm.TokensPrompt(prompt_token_ids=ids) for ids in prompts],
                self._vllm.SamplingParams(**SAMPLING),
                use_tqdm=False,
            )
        except Exception as error:  # (its own errors, torch's and CUDA's)
            raise ScoringError(f"vLLM stopped: {_short(error)}.") from error
        return [read_output(o, ids) for o, ids in zip(outputs, prompts, strict=True)]


def read_output(output: Any, ids: Sequence[int]) -> Answer:
    """The n + 1 numbers of n ids, and the engine's spelling of each token, from a `RequestOutput`.

    Raises:
        AnswerError: they are not those of the ids that were sent.
    """
    if list(output.prompt_token_ids) != list(ids):
        raise AnswerError("scored other token IDs than it received")
    (generated_id,) = output.outputs[0].token_ids
    rows = [*(output.prompt_logprobs or []), *(output.outputs[0].logprobs or [])]
    if len(rows) != len(ids) + 1 or rows[0]:
        raise AnswerError(
            f"returned log-probabilities for {len(rows)} tokens instead of {len(ids)} of the prompt and 1 generated, the "
            "first without a number"
        )
    pairs = list(zip(rows[1:], [*ids[1:], generated_id], strict=True))
    if not all(row and i in row for row, i in pairs):
        raise AnswerError("returned log-probabilities that do not include the prompt's own token")
    found = [row[i] for row, i in pairs]
    return Answer(
        logprobs=(None, *(float(entry.logprob) for entry in found)),
        tokens=("", *(entry.decoded_token or "" for entry in found)),
        prompt_ids=tuple(ids),
        generated_id=int(generated_id),
    )


def _weights_sha256(folder: Path) -> str | None:
    """None for a name on the Hub.

    Raises:
        ScoringError: the folder holds no safetensors, or an adapter beside them.
    """
    from scoring.backends.model_files import check_folder, refuse_adapter, weights_sha256

    if not folder.is_dir():
        return None
    check_folder(folder)
    refuse_adapter(
        folder,
        "vLLM reads all files, so move those of the adapter (adapter_*) out of the folder, or score with --model hf",
    )
    return weights_sha256(folder)


def _short(error: Exception, limit: int = 200) -> str:
    text = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return f"{text[:limit]}…" if len(text) > limit else text
