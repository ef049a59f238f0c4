"""The command `score`, called in the tests' own process; and the environment of a process on their database."""

import json
import os
from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandError, call_command

from tests.experiment.http_client import database_url


def score(*arguments: object) -> tuple[str, str, CommandError | None]:
    """Standard output and standard error of the command, and the error that it ended with."""
    out, err, error = StringIO(), StringIO(), None
    try:
        call_command("score", *map(str, arguments), stdout=out, stderr=err)
    except CommandError as raised:
        error = raised
    return out.getvalue(), err.getvalue(), error


def hf(path: Path, *arguments: object, **args: object) -> tuple[object, ...]:
    model_args = ",".join(f"{k}={v}" for k, v in {"pretrained": path, **args}.items())
    return ("--model", "hf", "--model_args", model_args, "--study", "memory", *arguments)


def score_json(*arguments: object) -> dict[str, Any]:
    out, _, error = score(*arguments, "--json")
    assert error is None, error
    return json.loads(out)


def sentence_of(*arguments: object) -> str:
    """The error of the command, which is all that it says."""
    out, _, error = score(*arguments)
    assert error is not None, "the command should have failed"
    assert error.returncode != 0
    assert len(str(error).splitlines()) == 1
    assert out == ""
    printed, _, _ = score(*arguments, "--json")
    assert list(json.loads(printed)) == ["error"]
    return str(error)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Of a process that works on the tests' database, with its files in this folder, on one core."""
    site = {"DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "config.settings"}
    own = {"SECRET_KEY": settings.SECRET_KEY, "VAR_DIR": str(folder), "OMP_NUM_THREADS": "1"}
    return {**os.environ, **site, **own, **more}
