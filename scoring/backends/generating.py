"""Opens a generator by its kind and arguments. Loads torch only when one is opened that needs it."""

from collections.abc import Callable, Mapping
from importlib import import_module

from scoring.backends import check_args
from scoring.backends.chat.options import WRITING, read_chat_options, read_writing
from scoring.backends.reading import Reading
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Generator

# By name, not imported: pages list the kinds and must not load torch
OPENED_BY = {
    "chat": ("scoring.backends.chat.generator", "ChatGenerator"),
    "hf": ("scoring.backends.causal_lm.generator", "TransformersGenerator"),
    "embedded": ("scoring.demo_lm.generator", "EmbeddedGenerator"),
}


def open_generator(kind: str, args: Mapping[str, str]) -> Generator:
    """Load the model, or make ready to reach the server, that the arguments name.

    Raises:
        ScoringError: it cannot be had; the message is for the person who asked.
    """
    check_generator_args(kind, args)
    module, name = OPENED_BY[kind]
    opener: Callable[[Mapping[str, str]], Generator] = getattr(import_module(module), name)
    return opener(args)


def check_generator_args(kind: str, args: Mapping[str, str]) -> None:
    """Refuse what no generator of this kind takes, as far as it can be said without opening one.

    Raises:
        ScoringError: one sentence on what is wrong.
    """
    if kind not in OPENED_BY:
        raise ScoringError(f"“{kind}” is no generator: choose one of {', '.join(OPENED_BY)}.")
    if kind == "chat":
        read_chat_options(args)
        return
    read_writing(args)
    Reading.of(args)
    loading = {name: value for name, value in args.items() if name not in WRITING}
    check_args("embedded" if kind == "embedded" else "transformers", loading)
    if kind == "hf" and not loading.get("pretrained"):
        raise ScoringError("A model in this process needs pretrained: its folder or its name.")
