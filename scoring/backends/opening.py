"""Opens backends and generators by kind and arguments. Loads torch only when one is opened that needs it; knows no database."""

from collections.abc import Callable, Mapping
from importlib import import_module

from scoring.backends import ALIASES, KINDS, check_args, placed
from scoring.backends.options import (
    WRITING,
    engine_args,
    read_chat_options,
    read_completions_options,
    read_writing,
)
from scoring.backends.reading import Reading, read_so, without_reading
from scoring.domain.backend import Backend, ScoringError
from scoring.domain.generating import Generator

# By name, not imported: pages list the kinds and must not load torch
BACKENDS = {
    "transformers": ("scoring.backends.causal_lm.backend", "TransformersBackend"),
    "completions": ("scoring.backends.completions.backend", "CompletionsBackend"),
    "vllm": ("scoring.backends.vllm", "VllmBackend"),
    "embedded": ("scoring.demo_lm.embedded", "EmbeddedBackend"),
}


def open_backend(kind: str, args: Mapping[str, str]) -> Backend:
    """Load the model, or reach the server, that the arguments name.

    Raises:
        ScoringError: it cannot be had; the message is for the person who asked.
    """
    kind = ALIASES.get(kind, kind)
    if kind not in KINDS:
        raise ScoringError(f"“{kind}” is not a backend. Choose from {', '.join(KINDS)}.")
    check_model_args(kind, args)
    module, name = BACKENDS[kind]
    opener: Callable[[Mapping[str, str]], Backend] = getattr(import_module(module), name)
    return read_so(opener(placed(without_reading(args))), Reading.of(args))


def check_model_args(kind: str, args: Mapping[str, str]) -> None:
    """Refuse arguments that no model of this kind takes, as far as it can be said without opening one.

    Raises:
        ScoringError: one sentence on what is wrong.
    """
    Reading.of(args)
    if kind == "completions":
        read_completions_options(without_reading(args))
    elif kind == "vllm":
        engine_args(without_reading(args))
    else:
        check_args(kind, args)


# By name, not imported: pages list the kinds and must not load torch
GENERATORS = {
    "chat": ("scoring.backends.chat", "ChatGenerator"),
    "hf": ("scoring.backends.causal_lm.generator", "TransformersGenerator"),
    "embedded": ("scoring.demo_lm.embedded", "EmbeddedGenerator"),
}


def open_generator(kind: str, args: Mapping[str, str]) -> Generator:
    """Load the model, or make ready to reach the server, that the arguments name.

    Raises:
        ScoringError: it cannot be had; the message is for the person who asked.
    """
    check_generator_args(kind, args)
    module, name = GENERATORS[kind]
    opener: Callable[[Mapping[str, str]], Generator] = getattr(import_module(module), name)
    return opener(args)


def check_generator_args(kind: str, args: Mapping[str, str]) -> None:
    """Refuse what no generator of this kind takes, as far as it can be said without opening one.

    Raises:
        ScoringError: one sentence on what is wrong.
    """
    if kind not in GENERATORS:
        raise ScoringError(f"“{kind}” is not a generator. Choose from {', '.join(GENERATORS)}.")
    if kind == "chat":
        read_chat_options(args)
        return
    read_writing(args)
    Reading.of(args)
    loading = {name: value for name, value in args.items() if name not in WRITING}
    check_args("embedded" if kind == "embedded" else "transformers", loading, ("batch_size",))
    if kind == "hf" and not loading.get("pretrained"):
        raise ScoringError("A model in this process needs pretrained, its folder or its name.")
