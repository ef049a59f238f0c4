"""The kinds of language models: the one list of them, which commands, forms, pages and services read.

An opener imports what it opens when it is called, because pages read this list and must not load torch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from scoring.backends import (
    EMBEDDED_ARGS,
    READING_ARGS,
    TRANSFORMERS_ARGS,
    WHICH_MODEL_ARGS,
    check_args,
    placed,
)
from scoring.backends.options import (
    WRITING,
    engine_args,
    inspect_provider,
    read_chat_options,
    read_completions_options,
    read_inspect_options,
    read_writing,
)
from scoring.backends.reading import Reading
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.domain.backend import Backend, ScoringError
from scoring.domain.generating import Generator

Args = Mapping[str, str]
Opened = TypeVar("Opened")


class Place(StrEnum):
    """The place where a model reads texts; services assume no more of a kind than this."""

    # At `base_url`, or at a provider, which SCORING_HOSTS must name. One that writes takes max_tokens, temperature and tries, and draws at
    # a temperature of its own where none is given.
    SERVER = "server"
    HERE = "here"  # in the process that asks
    DEMO = "demo"  # likewise: the model that ships with this project and only tests the set-up


@dataclass(frozen=True)
class Way(Generic[Opened]):
    """One way to use a model.

    open: loads it, or reaches its server; `args` have passed `check`.
    check: raises ScoringError for arguments that cannot be meant, and opens nothing.
    hint: the arguments that commands' help names.
    """

    open: Callable[[Args], Opened]
    check: Callable[[Args], object]
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class ModelKind:
    """A kind of language model.

    name: on command lines, in the API and in rows; at most 12 characters.
    label: on pages.
    provider: to whom texts go where no `base_url` is given; None where one is needed.
    named_by: the argument that says which model is meant; "" where there is one only, of the name `only_name`.
    scores, writes: how it gives probabilities of texts, and how it answers messages; None where it does not.
    package: what it needs beside the requirements; forms offer it where a worker may have that.
    stored_as: in rows of scoring runs, if another; their fingerprints and the API have it.
    run_label: on a run's page, if another.
    needs: fields of the site's list of servers that say where such a server is; none for a kind that is not listed there.
    """

    name: str
    label: str
    place: Place
    provider: Callable[[Args], str] | None = None
    named_by: str = ""
    only_name: str = ""
    scores: Way[Backend] | None = None
    writes: Way[Generator] | None = None
    package: str = ""
    stored_as: str = ""
    run_label: str = ""
    needs: tuple[str, ...] = ()


# A server that writes


def open_chat(args: Args) -> Generator:
    from scoring.backends.chat import ChatGenerator

    return ChatGenerator(args)


CHAT = ModelKind(
    name="chat",
    label="chat server",
    place=Place.SERVER,
    named_by="model",
    writes=Way(open_chat, read_chat_options, "base_url, model, concurrency, timeout, tries"),
    needs=("address",),
)


# A model of a provider


def open_inspect(args: Args) -> Generator:
    from scoring.backends.inspect_models import InspectGenerator

    return InspectGenerator(args)


INSPECT = ModelKind(
    name="inspect",
    label="provider (through Inspect)",
    place=Place.SERVER,
    provider=inspect_provider,
    named_by="model",
    writes=Way(
        open_inspect, read_inspect_options, "model=PROVIDER/NAME, base_url, concurrency, tries"
    ),
    needs=("address",),
)


# A model of transformers in this process


def open_transformers(args: Args) -> Backend:
    from scoring.backends.causal_lm.backend import TransformersBackend

    return TransformersBackend(placed(args))


def check_transformers(args: Args) -> None:
    check_args(args, TRANSFORMERS_ARGS)


def open_transformers_writer(args: Args) -> Generator:
    from scoring.backends.causal_lm.generator import TransformersGenerator

    return TransformersGenerator(args)


def loading_args(args: Args) -> dict[str, str]:
    """The arguments that load a model in this process, once those of how it writes are known to be right."""
    read_writing(args)
    Reading.of(args)
    return {name: value for name, value in args.items() if name not in WRITING}


def check_transformers_writer(args: Args) -> None:
    check_args(loading_args(args), TRANSFORMERS_ARGS, ("batch_size",))
    if not args.get("pretrained"):
        raise ScoringError(
            "A model on the site's machine needs pretrained, its folder or its name on Hugging Face."
        )


HF = ModelKind(
    name="hf",
    label="model on the site's machine",
    place=Place.HERE,
    named_by="pretrained",
    scores=Way(
        open_transformers, check_transformers, "pretrained, dtype, revision, peft, device, …"
    ),
    writes=Way(
        open_transformers_writer,
        check_transformers_writer,
        "pretrained, dtype, device, batch_size, …",
    ),
    stored_as="transformers",
    run_label="transformers",
)


# A server that gives probabilities of texts


def open_completions(args: Args) -> Backend:
    from scoring.backends.completions.backend import CompletionsBackend

    return CompletionsBackend(args)


COMPLETIONS = ModelKind(
    name="completions",
    label="server that gives probabilities of texts",
    place=Place.SERVER,
    named_by="model",
    scores=Way(open_completions, read_completions_options, "base_url, model, tokenizer, …"),
    needs=("address",),
)


# vLLM in this process


def open_vllm(args: Args) -> Backend:
    from scoring.backends.vllm import VllmBackend

    return VllmBackend(args)


VLLM = ModelKind(
    name="vllm",
    label="vLLM on the site's machine",
    place=Place.HERE,
    named_by="pretrained",
    scores=Way(open_vllm, engine_args, "pretrained, tensor_parallel_size, …"),
    package="vllm",
    run_label="vLLM in the process",
)


# The model that ships with this project


def open_embedded(args: Args) -> Backend:
    from scoring.demo_lm.embedded import EmbeddedBackend

    return EmbeddedBackend(placed(args))


def check_embedded(args: Args, reading: Sequence[str] = READING_ARGS) -> None:
    own = [name for name in WHICH_MODEL_ARGS if name in args]
    if own:
        raise ScoringError(
            f"--model embedded does not accept {own[0]}, because it is the model that ships with this project. Use --model "
            "hf for another model."
        )
    check_args(args, EMBEDDED_ARGS, reading)


def open_embedded_writer(args: Args) -> Generator:
    from scoring.demo_lm.embedded import EmbeddedGenerator

    return EmbeddedGenerator(args)


def check_embedded_writer(args: Args) -> None:
    check_embedded(loading_args(args), ("batch_size",))


EMBEDDED = ModelKind(
    name="embedded",
    label="demonstration model (only tests the set-up)",
    place=Place.DEMO,
    only_name=DEMO_NAME,
    scores=Way(open_embedded, check_embedded),
    writes=Way(open_embedded_writer, check_embedded_writer),
    run_label="embedded demonstration model",
)


# In the order in which commands and forms offer them
KINDS = (CHAT, INSPECT, HF, COMPLETIONS, VLLM, EMBEDDED)
SCORERS = tuple(kind for kind in KINDS if kind.scores)
WRITERS = tuple(kind for kind in KINDS if kind.writes)
LISTED = tuple(kind for kind in KINDS if kind.needs)  # on the page Model servers
# Arguments of each, for commands' help
SCORING_HINTS = "; ".join(f"{k.name}: {k.scores.hint}" for k in KINDS if k.scores and k.scores.hint)
WRITING_HINTS = "; ".join(f"{k.name}: {k.writes.hint}" for k in KINDS if k.writes and k.writes.hint)


def kind_of(word: str) -> ModelKind | None:
    """The kind that a command or a row names; None for what no model does, such as an import.

    >>> kind_of("transformers") is kind_of("hf") is HF
    True
    """
    return next((kind for kind in KINDS if word in (kind.name, kind.stored_as)), None)


def place_of(word: str) -> Place | None:
    """The place of a kind of model; None for what no model does."""
    kind = kind_of(word)
    return kind.place if kind else None


def known_kind(
    word: str, among: Sequence[ModelKind] = KINDS, called: str = "kind of model"
) -> ModelKind:
    """The kind of this name.

    Raises:
        ScoringError: it is none of these.
    """
    found = kind_of(word)
    if found is None or found not in among:
        names = ", ".join(kind.name for kind in among)
        raise ScoringError(f"“{word}” is not a {called}. Choose from {names}.")
    return found
