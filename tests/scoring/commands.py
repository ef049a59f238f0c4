"""Commands called in the tests' own process; and the environment of a process on their database."""

import json
import os
from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandError, call_command

from tests.experiment.http_client import database_url


def called(command: str, *arguments: object) -> tuple[str, str, CommandError | None]:
    """Its standard output and standard error, and the error that it ended with."""
    out, err, error = StringIO(), StringIO(), None
    try:
        call_command(command, *map(str, arguments), stdout=out, stderr=err)
    except CommandError as raised:
        error = raised
    return out.getvalue(), err.getvalue(), error


def json_of(command: str, *arguments: object) -> dict[str, Any]:
    out, _, error = called(command, *arguments, "--json")
    assert error is None, error
    return json.loads(out)


def refusal(command: str, *arguments: object) -> str:
    """The error that it ended with."""
    _, _, error = called(command, *arguments)
    assert error is not None, "the command should have failed"
    assert error.returncode != 0
    return str(error)


def score(*arguments: object) -> tuple[str, str, CommandError | None]:
    return called("score", *arguments)


def hf(path: Path, *arguments: object, **args: object) -> tuple[object, ...]:
    model_args = ",".join(f"{k}={v}" for k, v in {"pretrained": path, **args}.items())
    return ("--model", "hf", "--model_args", model_args, "--study", "memory", *arguments)


def score_json(*arguments: object) -> dict[str, Any]:
    return json_of("score", *arguments)


def sentence_of(*arguments: object) -> str:
    """The error of the command `score`, which is all that it says."""
    out, _, error = score(*arguments)
    assert error is not None, "the command should have failed"
    assert len(str(error).splitlines()) == 1
    assert out == ""
    assert list(json.loads(score(*arguments, "--json")[0])) == ["error"]
    return str(error)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a process that works on the tests' database, with its files in this folder, on one core."""
    site = {"DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "config.settings"}
    site |= {"SCORING_HOSTS": ",".join(settings.SCORING_HOSTS)}
    own = {"SECRET_KEY": settings.SECRET_KEY, "VAR_DIR": str(folder), "OMP_NUM_THREADS": "1"}
    return {**os.environ, **site, **own, **more}
