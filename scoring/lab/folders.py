"""What of this server a page may name as a model: folders below MODELS_DIR; and by its name what is on the model hub."""

import re
from collections.abc import Mapping
from itertools import chain, islice
from os.path import exists, isdir  # false for what can be no path
from pathlib import Path

from django.conf import settings

from lib.folders import inside
from scoring.backends.model_files import check_files
from scoring.domain.backend import ScoringError

# Arguments that may be a folder
NAMED = ("pretrained", "peft", "tokenizer")
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")
MOST_OFFERED = 200


def model_folders() -> list[str]:
    """Names of the models that lie below MODELS_DIR, at most two folders deep."""
    root: Path = settings.MODELS_DIR
    found = chain(root.glob("*/config.json"), root.glob("*/*/config.json"))
    return sorted(str(path.parent.relative_to(root)) for path in islice(found, MOST_OFFERED))


def with_folders(args: Mapping[str, str]) -> dict[str, str]:
    """The arguments with whole paths for the names of folders.

    Raises:
        ScoringError: one is neither a folder below MODELS_DIR nor a name on the hub, or was copied in part.
    """
    return {name: _found(name, value) if name in NAMED else value for name, value in args.items()}


def _found(name: str, value: str) -> str:
    path = inside(settings.MODELS_DIR, value)
    # By its whole path, it may be on the worker's machine alone
    if path is not None and (value.startswith("/") or isdir(path)):
        if isdir(path):
            check_files(path)
        return str(path)
    if HUB_NAME.fullmatch(value) and not exists(settings.BASE_DIR / value):
        return value
    raise ScoringError(
        f"{name}: “{value[:200]}” is neither a folder in {settings.MODELS_DIR} nor a name on the model hub."
    )
