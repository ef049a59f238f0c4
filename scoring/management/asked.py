"""What the options of `score` and `score_corpus` ask for: models and prompts, read before any model is opened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from lib.files import not_utf8
from scoring.backends import ALIASES, parse_model_args
from scoring.backends.opening import check_model_args
from scoring.domain.prompts import PLACEHOLDER
from scoring.models import ScoringRun
from scoring.services.open_model import default_name

ALWAYS_TOLD = ("max_length", "overlong")
WORDS = ("hf", "completions", "vllm", "embedded")


@dataclass(frozen=True)
class AskedModel:
    """A model to score; `label` is its name, and what tells it from another of the same name."""

    kind: str
    args: Mapping[str, str]
    name: str
    label: str


@dataclass(frozen=True)
class AskedPrompt:
    """The kind of a prompt, and the text of a custom one."""

    kind: str
    text: str = ""


def add_model_arguments(
    parser: CommandParser, default_prompt: str, name_flags: Sequence[str]
) -> None:
    """Which models, called what, with what prompts and in what batches."""
    parser.add_argument("--model", choices=WORDS)
    parser.add_argument(
        "--model_args",
        action="append",
        metavar="NAME=VALUE,…",
        help="hf: pretrained, dtype, revision, peft, device, …; completions: base_url, model, tokenizer, …; "
        "vllm: pretrained, tensor_parallel_size, …; "
        "once for each model",
    )
    parser.add_argument(
        "--models",
        type=Path,
        metavar="FILE",
        help="a model on each line: its arguments, after its kind where that is not --model's",
    )
    parser.add_argument(
        *name_flags,
        dest="model_name",
        metavar="NAME",
        help="what the model is called; default: as its arguments name it",
    )
    prompt = parser.add_mutually_exclusive_group()
    prompt.add_argument(
        "--prompt",
        default=default_prompt,
        help=f"of none, paper, clean, chat, separated by commas; or a text with {PLACEHOLDER} "
        f"(default: {default_prompt})",
    )
    prompt.add_argument("--prompt_file", type=Path, help=f"a file with such a text, {PLACEHOLDER}")
    parser.add_argument(
        "--batch_tokens",
        type=batch_tokens,
        metavar="N|auto",
        help="how many tokens are scored at once (default: auto)",
    )
    parser.add_argument(
        "--batch_size",
        metavar="N|auto",
        help="the same in texts: N times the tokens of the longest one",
    )


def batch_tokens(text: str) -> int | None:
    """`auto`, or a number."""
    return None if text == "auto" else int(text)


def asked_models(options: Mapping[str, Any]) -> list[AskedModel]:
    """The models of --model_args, each time that it is given, and of the file --models; in this order.

    Raises:
        CommandError, ScoringError: none is named, or one cannot be meant like this.
    """
    written = [(options["model"], text) for text in options["model_args"] or ()]
    if options["models"] is not None:
        written += _lines(options["models"], options["model"])
    if not written and options["model"]:
        written = [(options["model"], "")]
    if not written or not all(word for word, _ in written):
        raise CommandError(f"Name the model: --model {', '.join(WORDS[:-1])} or {WORDS[-1]}.")
    asked = [
        (ALIASES.get(word, word), _with_batch_size(parse_model_args(text), options))
        for word, text in written
    ]
    if options["model_name"] and len(asked) > 1:
        raise CommandError(f"A name names one model; here are {len(asked)}.")
    names = [options["model_name"] or default_name(kind, args) for kind, args in asked]
    for kind, args in asked:
        check_model_args(kind, args)
    models = [
        AskedModel(kind, args, name, label)
        for (kind, args), name, label in zip(
            asked, names, _labels(names, [args for _, args in asked]), strict=True
        )
    ]
    for n, model in enumerate(models):
        if any((model.kind, model.args) == (m.kind, m.args) for m in models[:n]):
            raise CommandError(f"{model.name} is asked for twice with the same arguments.")
    return models


def asked_prompts(options: Mapping[str, Any]) -> list[AskedPrompt]:
    """The prompts by name, or the one of one's own.

    Raises:
        CommandError: its file cannot be read.
    """
    if options["prompt_file"] is not None:
        return [AskedPrompt("custom", _content(options["prompt_file"]))]
    known = {kind for kind in ScoringRun.Prompt.values if kind != ScoringRun.Prompt.CUSTOM}
    names = list(dict.fromkeys(name.strip() for name in options["prompt"].split(",")))
    # A text of one's own may have commas in it
    if set(names) <= known:
        return [AskedPrompt(name) for name in names]
    return [AskedPrompt("custom", options["prompt"])]


def _with_batch_size(args: dict[str, str], options: Mapping[str, Any]) -> dict[str, str]:
    """--batch_size is one of the model's arguments, as lm-evaluation-harness hands it on."""
    size = options["batch_size"]
    if size is None:
        return args
    if args.get("batch_size", size) != size:
        raise CommandError("--batch_size and batch_size in --model_args differ: give one of them.")
    return {**args, "batch_size": size}


def _lines(path: Path, word: str | None) -> list[tuple[str | None, str]]:
    """A model on each line: its arguments, after its kind where that is not --model's."""
    models: list[tuple[str | None, str]] = []
    for line in _content(path).splitlines():
        written = "" if line.lstrip().startswith("#") else line.strip()
        first, _, rest = written.partition(" ")
        if first in WORDS:
            models.append((first, rest))
        elif written:
            models.append((word, written))
    if not models:
        raise CommandError(f"{path} names no model.")
    return models


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} cannot be read: {not_utf8(path)}.") from error


def _labels(names: Sequence[str], args: Sequence[Mapping[str, str]]) -> list[str]:
    """Names; with what becomes of long texts, and what differs where several models have the same name.

    >>> _labels(["a", "b", "a"], [{"dtype": "x"}, {}, {"dtype": "y", "attn": "z"}])
    ['a (dtype=x)', 'b', 'a (attn=z, dtype=y)']
    """
    labels = []
    for name, own in zip(names, args, strict=True):
        of_name = [other for n, other in zip(names, args, strict=True) if n == name]
        told = [
            f"{key}={value}"
            for key, value in sorted(own.items())
            if key in ALWAYS_TOLD or any(other.get(key) != value for other in of_name)
        ]
        labels.append(f"{name} ({', '.join(told)})" if told else name)
    return labels
