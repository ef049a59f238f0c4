"""Opens a backend by its kind and arguments. Loads torch only when one is opened that needs it; knows no database."""

from collections.abc import Callable, Mapping
from importlib import import_module

from scoring.backends import ALIASES, KINDS, check_args, placed
from scoring.backends.completions.options import read_options
from scoring.backends.reading import Reading, read_so, without_reading
from scoring.backends.vllm.options import engine_args
from scoring.domain.backend import Backend, ScoringError

# By name, not imported: pages list the kinds and must not load torch
OPENED_BY = {
    "transformers": ("scoring.backends.causal_lm.backend", "TransformersBackend"),
    "completions": ("scoring.backends.completions.backend", "CompletionsBackend"),
    "vllm": ("scoring.backends.vllm.backend", "VllmBackend"),
    "embedded": ("scoring.demo_lm.backend", "EmbeddedBackend"),
}


def open_backend(kind: str, args: Mapping[str, str]) -> Backend:
    """Load the model, or reach the server, that the arguments name.

    Raises:
        ScoringError: it cannot be had; the message is for the person who asked.
    """
    kind = ALIASES.get(kind, kind)
    if kind not in KINDS:
        raise ScoringError(f"“{kind}” is no backend: choose one of {', '.join(KINDS)}.")
    check_model_args(kind, args)
    module, name = OPENED_BY[kind]
    opener: Callable[[Mapping[str, str]], Backend] = getattr(import_module(module), name)
    return read_so(opener(placed(without_reading(args))), Reading.of(args))


def check_model_args(kind: str, args: Mapping[str, str]) -> None:
    """Refuse arguments that no model of this kind takes, as far as it can be said without opening one.

    Raises:
        ScoringError: one sentence on what is wrong.
    """
    Reading.of(args)
    if kind == "completions":
        read_options(without_reading(args))
    elif kind == "vllm":
        engine_args(without_reading(args))
    else:
        check_args(kind, args)
