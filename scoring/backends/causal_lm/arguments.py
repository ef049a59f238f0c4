"""What `--model_args` may say of a model that is loaded here, and what transformers calls it."""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
from transformers import PreTrainedConfig

from scoring.backends import TRANSFORMERS_ARGS
from scoring.domain.backend import ScoringError

DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}
AUTO = "auto"  # what the checkpoint says
QUANTIZATIONS = ("8bit", "4bit")
IGNORE = "ignore"  # an adapter that lies beside full weights


def dtype_of(args: Mapping[str, str]) -> torch.dtype | str:
    """The precision to load weights in: torch's, or "auto" for what the checkpoint says."""
    return DTYPES.get(args.get("dtype", "float32"), AUTO)


def checked(args: Mapping[str, str]) -> str:
    """The model that the arguments name.

    Raises:
        ScoringError: an argument is unknown or wrong, or there is no model's name.
    """
    unknown = sorted(set(args) - set(TRANSFORMERS_ARGS))
    if unknown:
        raise ScoringError(
            f"--model_args: {unknown[0]} is not known here; choose from {', '.join(TRANSFORMERS_ARGS)}."
        )
    if not args.get("pretrained"):
        raise ScoringError("--model_args must name the model: pretrained=PATH.")
    for name, choices in (
        ("dtype", (*DTYPES, AUTO)),
        ("quantization", QUANTIZATIONS),
        ("adapter", (IGNORE,)),
    ):
        if name in args and args[name] not in choices:
            raise ScoringError(
                f"--model_args: {name}={args[name]}: choose one of {', '.join(choices)}."
            )
    return args["pretrained"]


def set_attention(config: PreTrainedConfig, args: Mapping[str, str]) -> None:
    """Take the attention that is asked for, or transformers' own choice; never one that a configuration names.

    Raises:
        ScoringError: transformers is known to compute it wrong for this model, or it comes from a hub.
    """
    config._attn_implementation = None
    if "/" in args.get("attn", ""):
        raise ScoringError(f"attn={args['attn']}: code from a hub is never run here.")
    if args.get("attn") == "eager" and config.model_type == "falcon" and config.alibi:
        raise ScoringError(
            f"attn=eager: transformers {version('transformers')} adds ALiBi twice to a Falcon's attention; leave attn out."
        )


def quantization(config: PreTrainedConfig, args: Mapping[str, str]) -> str:
    """How the weights are to be quantized, or are where they are stored; "" where they are not.

    Raises:
        ScoringError: both.
    """
    stored = getattr(config, "quantization_config", None) or {}
    described = stored if isinstance(stored, dict) else stored.to_dict()
    asked = args.get("quantization", "")
    method = str(described.get("quant_method", "unnamed")) if described else ""
    if method and asked:
        raise ScoringError(
            f"quantization={asked}: the weights are stored quantized already ({method}); leave it out."
        )
    return method or asked


def placement(args: Mapping[str, str]) -> dict[str, Any]:
    """How and where `from_pretrained` is to put the weights.

    Raises:
        ScoringError: a package for it is missing.
    """
    placed: dict[str, Any] = {}
    if dtype_of(args) == torch.float64:  # the grouped kernel for experts has no such precision
        placed["experts_implementation"] = "eager"
    if "attn" in args:
        placed["attn_implementation"] = args["attn"]
    if "device_map" in args:
        placed["device_map"] = args["device_map"]
    if "quantization" in args:
        try:
            version("bitsandbytes")
        except PackageNotFoundError as error:
            raise ScoringError(
                "quantization needs the package bitsandbytes, which is not installed here."
            ) from error
        from transformers import BitsAndBytesConfig

        placed["quantization_config"] = BitsAndBytesConfig(  # type: ignore[no-untyped-call]
            load_in_8bit=args["quantization"] == "8bit", load_in_4bit=args["quantization"] == "4bit"
        )
        placed.setdefault("device_map", "auto")
    return placed
