"""Language models by name: their rows, what their arguments call them, and one open model at a time.

A row that stands stays as it is; a new one takes what is published about the model.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from lib.name_fields import hold_names
from lib.names import looks
from scoring.backends.opening import open_backend
from scoring.backends.registry import kind_of, known_kind
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.domain.backend import Backend, ScoringError
from scoring.domain.known_models import MODELS, training_facts
from scoring.models import LanguageModel, Training, TrainingCorpus
from scoring.models.training import AT

MAX_DISPLAY_NAME = 80
CHAT = re.compile(r"(?i)(?:^|[-_.])(?:chat|instruct|it)(?:[-_.]|\Z)")  # words of a name that say so
HUB_CACHE = "models--"  # its folders: models--owner--name/snapshots/<commit>


class OneModel:
    """Opens models and keeps the last one: runs of one model in a row load it once."""

    def __init__(self) -> None:
        self.key: tuple[str, dict[str, str]] | None = None
        self.backend: Backend | None = None

    def open(self, kind: str, args: Mapping[str, str]) -> Backend:
        """The model that these arguments name; whichever was open before is closed if it is another.

        Raises:
            ScoringError: it cannot be had.
        """
        key = (kind, dict(args))
        if self.backend is None or self.key != key:
            self.close()
            self.backend = open_backend(kind, args)
            self.key = key
        return self.backend

    def close(self) -> None:
        """Let go of the model; the next one is loaded anew."""
        if self.backend is not None:
            self.backend.close()
        self.backend, self.key = None, None


def default_name(kind: str, args: Mapping[str, str]) -> str:
    """The default name of a model: a hub name or the last two parts of a path.

    Raises:
        ScoringError: the arguments do not say which model is meant.

    >>> default_name("hf", {"pretrained": "/data/models/gpt2", "peft": "adapters/neuro"})
    'models/gpt2 + neuro'
    """
    found = known_kind(kind)
    if found.only_name:
        return found.only_name
    if not args.get(found.named_by):
        raise ScoringError(f"--model {found.name} needs {found.named_by}=… in --model_args.")
    name = _short(args[found.named_by])
    return f"{name} + {_short(args['peft']).rpartition('/')[2]}" if args.get("peft") else name


def language_model(kind: str, name: str) -> LanguageModel:
    """The row of this model, made if there is none.

    Raises:
        ScoringError: no model can have this name, or not this one.
    """
    # Whoever asks for it next would find a model that is only for demonstration
    found = kind_of(kind)
    if found is not None and found.only_name not in ("", name):
        raise ScoringError(
            f"The demonstration model cannot be called “{name}”. Leave its name out: it is {found.only_name}."
        )
    try:
        return ensure_language_model(name)
    except ValidationError as error:
        raise ScoringError(
            f"A model cannot be called “{name}”: {' '.join(error.messages)}"
        ) from error


def ensure_language_model(name: str) -> LanguageModel:
    """The model of this name, made if there is none.

    A row that stands is returned as it is: an administrator may have edited it. A new one takes what is published about the
    model, and is else displayed by the last part of its name, which may say that it is a chat model. Nothing else that a
    request says about the model is stored here, for the row is all labs'.

    Raises:
        ValidationError: no model can have this name, or a training keeps it for its own.
    """
    known = LanguageModel.objects.filter(name=name).first()
    if known is not None:
        return known
    values = _published_fields(name) or {
        "display_name": shown_name(name),
        "is_chat": says_chat(name),
        "is_demo": name == DEMO_NAME,
    }
    with transaction.atomic():
        hold_names(LanguageModel, name.rpartition(AT)[0] or name)
        if Training.objects.keeps(name):
            raise ValidationError(
                "It is the name of a model that a training of this site makes. Choose another name."
            )
        LanguageModel(name=name, **values).full_clean(validate_unique=False)
        # Another process may have made it since
        row, is_new = LanguageModel.objects.get_or_create(name=name, defaults=values)
        if is_new:
            TrainingCorpus.objects.bulk_create(
                TrainingCorpus(language_model=row, corpus=corpus, status=status.value)
                for corpus, status in training_facts(row.name).corpora.items()
            )
    return row


def says_chat(name: str) -> bool:
    """True if the name of a model says that it is tuned for chat or instructions.

    >>> [says_chat(name) for name in ("org/tiny-1b-Instruct-v2", "org/tiny-7b-chat", "org/gemma-2-2b-it", "org/chatter-1b", "gpt2")]
    [True, True, True, False, False]
    """
    return bool(CHAT.search(short_name(name)))


def short_name(name: str) -> str:
    """The shown name of a model that is not a published one: the last part of a hub's name or of a path.

    >>> short_name("org/model-1b"), short_name("models/tiny/")
    ('model-1b', 'tiny')
    """
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2] or name
    return last if len(last) <= MAX_DISPLAY_NAME else f"{last[: MAX_DISPLAY_NAME - 1]}…"


def shown_name(name: str) -> str:
    """The last part of a name, or all of it where that is shown of a published model."""
    last, published = short_name(name), {model.display_name for model in MODELS.values()}
    return name[:MAX_DISPLAY_NAME] if looks(last) & looks(*published) else last


def _published_fields(name: str) -> dict[str, Any]:
    published = MODELS.get(name)
    if published is None:
        return {}
    values, training = asdict(published), training_facts(name)
    del values["name"]
    values |= {"training_cutoff": training.cutoff, "released": training.released}
    for relation in ("base_partner", "tuned_from"):
        other = values.pop(relation)
        values[relation] = ensure_language_model(other) if other else None
    return values


def _short(path_or_name: str) -> str:
    parts = PurePosixPath(path_or_name).parts
    try:
        path = Path(path_or_name).expanduser()
        parts = path.resolve().parts if path.is_dir() else parts
    except (OSError, RuntimeError):
        pass  # longer than a path may be, or in the home of a user who does not exist
    for part in reversed(parts):
        if part.startswith(HUB_CACHE):
            return part.removeprefix(HUB_CACHE).replace("--", "/")
    return "/".join([part for part in parts if part != "/"][-2:])
