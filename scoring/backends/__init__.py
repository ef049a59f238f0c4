"""The arguments of models in this process. Imports no model; `registry.py` lists the kinds of models."""

import os
from collections.abc import Mapping, Sequence

from scoring.domain.backend import ScoringError

# transformers would fetch kernels, which are code, from a hub by itself (it reads this when it is imported), and weights that
# a robot converted to safetensors from a pull request there
os.environ |= {"USE_HUB_KERNELS": "NO", "DISABLE_SAFETENSORS_CONVERSION": "YES"}

# Arguments that say which model it is; the embedded one takes none of them
WHICH_MODEL_ARGS = ("pretrained", "revision", "peft", "adapter", "tokenizer", "quantization")
EMBEDDED_ARGS = ("dtype", "device", "device_map", "attn", "strategy")
TRANSFORMERS_ARGS = (*WHICH_MODEL_ARGS, *EMBEDDED_ARGS)
# How any kind of model reads texts: see reading.py
READING_ARGS = ("max_length", "overlong", "batch_size", "add_bos_token")
OVERLONG = ("refuse", "truncate", "rolling")
# lm-evaluation-harness's word for a model over all GPUs
PARALLELIZE = "parallelize"
# Say the same thing, or where the model is to be: only one of them can be meant
EXCLUDE = (
    ("peft", "adapter"),
    ("device", "device_map"),
    ("device", "quantization"),
    ("device", PARALLELIZE),
    ("device_map", PARALLELIZE),
)


def parse_model_args(text: str) -> dict[str, str]:
    """Read `name=value,name=value`, as lm-evaluation-harness writes a model's arguments.

    Raises:
        ScoringError: a part has no name or no value, or a name comes twice.

    >>> parse_model_args("pretrained=models/tiny,dtype=float32")
    {'pretrained': 'models/tiny', 'dtype': 'float32'}
    """
    args: dict[str, str] = {}
    for part in text.split(","):
        if not part.strip():
            continue
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value):
            raise ScoringError(
                f"“{part.strip()}” is not written as name=value.", option="--model_args"
            )
        if name in args:
            raise ScoringError(f"{name} is given twice.", option="--model_args")
        args[name] = value
    return args


def check_args(
    args: Mapping[str, str], known: Sequence[str], reading: Sequence[str] = READING_ARGS
) -> None:
    """Refuse arguments that a model in this process does not take, or that contradict each other, before one is loaded.

    Args:
        known: those that say which model it is and how it is loaded.
        reading: those of READING_ARGS that are heeded.
    Raises:
        ScoringError: one sentence on what is wrong.
    """
    known = (*known, PARALLELIZE, *reading)
    unknown = [name for name in args if name not in known]
    if unknown:
        raise wrong(f"{unknown[0]} is not known. This kind of model accepts {', '.join(known)}")
    for one, other in EXCLUDE:
        if one in args and other in args and args[other].capitalize() != "False":
            raise wrong(f"{one} and {other} exclude each other")
    is_true(args, PARALLELIZE)


def is_true(args: Mapping[str, str], name: str) -> bool | None:
    """The truth value of an argument; None where it is not given.

    Raises:
        ScoringError: it is neither.
    """
    if name not in args:
        return None
    if args[name].capitalize() not in ("True", "False"):
        raise wrong(f"{name}={args[name]}: choose True or False")
    return args[name].capitalize() == "True"


def placed(args: Mapping[str, str]) -> dict[str, str]:
    """The arguments with `parallelize` in accelerate's words.

    >>> placed({"pretrained": "large", "parallelize": "True"})
    {'pretrained': 'large', 'device_map': 'auto'}
    """
    others = {name: value for name, value in args.items() if name != PARALLELIZE}
    return others | ({"device_map": "auto"} if is_true(args, PARALLELIZE) else {})


def wrong(what: str) -> ScoringError:
    """The error to be raised about `--model_args`."""
    return ScoringError(f"{what}.", option="--model_args")


def settings_of(args: Mapping[str, str]) -> str:
    """How a model is loaded and read, where that was asked for; not which it is.

    >>> settings_of({"pretrained": "models/tiny", "max_length": "512", "overlong": "rolling"})
    'max_length=512, overlong=rolling'
    """
    which = {*WHICH_MODEL_ARGS, "base_url", "model"}
    return ", ".join(f"{name}={value}" for name, value in args.items() if name not in which)
