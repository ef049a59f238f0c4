"""The models and prompts that `score` and `score_corpus` are asked for, read before any model is opened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandError

from scoring.backends import parse_model_args
from scoring.backends.opening import check_model_args
from scoring.backends.registry import KINDS, SCORERS, known_kind
from scoring.management.writing import content_of
from scoring.models import ScoringRun
from scoring.services.open_model import default_name

ALWAYS_TOLD = ("max_length", "overlong")
WORDS = tuple(kind.name for kind in SCORERS)
# With those that choose, and are not scored
ALL_WORDS = (*WORDS, *(kind.name for kind in KINDS if not kind.scores))


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


def asked_models(options: Mapping[str, Any]) -> list[AskedModel]:
    """The models of --model_args, each time that it is given, and of the file --models; in this order.

    Raises:
        CommandError, ScoringError: none is named, or one cannot be meant like this.
    """
    written = written_models(options)
    if unscored := [word for word, _ in written if word not in WORDS]:
        label = known_kind(unscored[0]).label
        raise CommandError(
            f"A {label} does not give probabilities of texts. Use --method choice.",
        )
    asked, size = [], options["batch_size"]
    for word, text in written:
        args = parse_model_args(text)
        # Also one of the model's arguments, as lm-evaluation-harness hands it on
        if size is not None and args.setdefault("batch_size", size) != size:
            raise CommandError(
                "--batch_size and batch_size in --model_args differ. Give only one of them."
            )
        asked.append((word, args))
    if options["model_name"] and len(asked) > 1:
        raise CommandError(f"--name can name only one model, but {len(asked)} were given.")
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
            raise CommandError(f"{model.name} is given twice with the same arguments.")
    return models


def written_models(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Kind and arguments of each model, as they were written.

    Raises:
        CommandError: none is named, or one without its kind.
    """
    written = [(options["model"], text) for text in options["model_args"] or ()]
    if options["models"] is not None:
        lines = [line.strip() for line in content_of(options["models"]).splitlines()]
        lines = [line for line in lines if line and not line.startswith("#")]
        if not lines:
            raise CommandError(f"{options['models']} does not name a model.")
        for line in lines:
            first, _, rest = line.partition(" ")
            written.append((first, rest) if first in ALL_WORDS else (options["model"], line))
    if not written and options["model"]:
        written = [(options["model"], "")]
    named = [(word, text) for word, text in written if word]
    if not written or len(named) < len(written):
        raise CommandError(f"Name the model: --model {', '.join(WORDS[:-1])} or {WORDS[-1]}.")
    return named


def asked_prompts(options: Mapping[str, Any], default: str) -> list[AskedPrompt]:
    """The prompts by name, or the one of one's own.

    Raises:
        CommandError: its file cannot be read.
    """
    if options["prompt_file"] is not None:
        return [AskedPrompt("custom", content_of(options["prompt_file"]))]
    known = {kind for kind in ScoringRun.Prompt.values if kind != ScoringRun.Prompt.CUSTOM}
    text = options["prompt"] or default
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    # A text of one's own may have commas in it
    if set(names) <= known:
        return [AskedPrompt(name) for name in names]
    return [AskedPrompt("custom", text)]


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
