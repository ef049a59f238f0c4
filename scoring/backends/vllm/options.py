"""The arguments of a model in vLLM, in the words of its `LLM`. Loads no vLLM."""

from collections.abc import Callable, Mapping
from typing import Any

from scoring.domain.backend import ScoringError


def _flag(text: str) -> bool:
    return {"True": True, "False": False}[text]


READ: Mapping[str, Callable[[str], Any]] = {
    "pretrained": str,
    "revision": str,
    "tokenizer": str,
    "dtype": str,
    "quantization": str,
    "tensor_parallel_size": int,
    "pipeline_parallel_size": int,
    "max_model_len": int,
    "max_num_batched_tokens": int,
    "gpu_memory_utilization": float,
    "enforce_eager": _flag,
}


def engine_args(args: Mapping[str, str]) -> dict[str, Any]:
    """What `vllm.LLM` is called with.

    A prompt's log-probabilities need the whole prompt computed, so that a cache of beginnings brings nothing and has
    been wrong; weights come from safetensors and code that comes with a model is never run.

    Raises:
        ScoringError: an argument is unknown, missing or not of its kind.

    >>> engine_args({"pretrained": "large", "tensor_parallel_size": "8"})["tensor_parallel_size"]
    8
    """
    if not args.get("pretrained", "").strip():
        raise ScoringError("--model vllm needs pretrained=… in --model_args.")
    values = {}
    for name, text in args.items():
        if name not in READ:
            raise _wrong(f"{name} is not known here: vLLM takes {', '.join(READ)}")
        try:
            values[name] = READ[name](text)
        except (KeyError, ValueError) as error:
            kind = {int: "a whole number", float: "a number"}.get(READ[name], "True or False")  # type: ignore[call-overload]
            raise _wrong(f"{name}={text}: expected {kind}") from error
    values["model"] = values.pop("pretrained")
    if "revision" in values and "tokenizer" not in values:
        values["tokenizer_revision"] = values["revision"]
    return values | {
        "enable_prefix_caching": False,
        "load_format": "safetensors",
        "trust_remote_code": False,
        "seed": 0,
    }


def _wrong(what: str) -> ScoringError:
    return ScoringError(f"{what}.", option="--model_args")
