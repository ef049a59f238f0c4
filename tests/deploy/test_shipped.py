"""The systemd units and the compose file as they are shipped: what they run is there, and starts with the settings that they give."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from celery.bin.celery import celery
from click import Command, Context, NoSuchOption
from django.core.management import get_commands, load_command_class
from gunicorn.config import Config

from tests import processes
from tests.experiment.http_client import ROOT

UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy/compose/compose.yaml").read_text())
RUN = re.compile(r"(?<![\w.])\.venv/bin/[a-z]+ [^&\n]+")
SECRETS = {"SECRET_KEY", "WITHDRAWAL_KEY"}


def lines_of_units() -> list[str]:
    found = [
        line.partition("=")[2].replace("/srv/brainbench/", "")
        for unit in UNITS
        for line in unit.read_text().splitlines()
        if line.startswith(("ExecStart=", "ExecReload=")) and "/srv/brainbench" in line
    ]
    assert len(found) >= len(UNITS)
    return found


def lines_of_services() -> list[str]:
    commands = [service.get("command", "") for service in COMPOSE["services"].values()]
    texts = [" ".join(command) if isinstance(command, list) else command for command in commands]
    found = [line.strip(' "') for text in texts for line in RUN.findall(text)]
    assert len(found) == 6
    return found


@pytest.mark.parametrize("line", [*lines_of_units(), *lines_of_services()])
def test_commands_that_are_run_exist_and_take_these_options(line: str) -> None:
    program, *arguments = shlex.split(line)
    assert (ROOT / program).exists()
    if arguments[0] == "manage.py":
        name, *options = arguments[1:]
        command = load_command_class(get_commands()[name], name)
        command.create_parser("manage.py", name).parse_args(options)
    elif Path(program).name == "gunicorn":
        Config().parser().parse_args(arguments)
    else:
        assert Path(program).name == "celery"
        worker = arguments.index("worker")
        parse(celery, arguments[:worker])
        parse(celery.commands["worker"], arguments[worker + 1 :])


def parse(command: Command, options: list[str]) -> None:
    _, left, _ = command.make_parser(Context(command)).parse_args(options)
    assert left == []


def test_an_option_that_celery_does_not_know_is_none() -> None:
    with pytest.raises(NoSuchOption):
        parse(celery.commands["worker"], ["--concurency", "1"])


def environment() -> dict[str, str]:
    """The environment of a container of the site, with defaults as they are shipped and the rest filled in; its volume is a folder of the test's."""
    shipped: dict[str, str] = COMPOSE["services"]["web"]["environment"]
    secret = "of the test alone, 0123456789 abcdefghijklmnopqrstuvwxyz"

    def filled(name: str, text: str) -> str:
        given = secret if name in SECRETS else "lab.example.org"
        return re.sub(r"\$\{\w+(?::-([^}]+)|[^}]*)\}", lambda found: found[1] or given, text)

    values = {name: filled(name, text) for name, text in shipped.items() if name != "VAR_DIR"}
    return values | {"METRICS_TOKEN": "0123456789abcdef" * 2}


@pytest.mark.parametrize(
    "process",
    [
        "-m gunicorn --check-config --config config/gunicorn.py config.wsgi",
        "manage.py check --deploy --fail-level WARNING",
        "-m celery -A config report",
    ],
)
def test_every_process_starts_with_the_settings_of_a_container(
    process: str, tmp_path: Path
) -> None:
    done = processes.run(*process.split(), folder=tmp_path, **environment())
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_container_listens_beyond_itself_since_its_proxy_is_named(tmp_path: Path) -> None:
    given = {name: text for name, text in environment().items() if name != "FORWARDED_ALLOW_IPS"}
    command = "-m gunicorn --check-config --config config/gunicorn.py config.wsgi"
    refused = processes.run(*command.split(), folder=tmp_path, **given)
    assert "BIND" in refused.stdout + refused.stderr
    assert refused.returncode
