"""A study with people, files of the site in a folder, and an empty database beside the test's own."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from psycopg.sql import SQL, Identifier

from experiment.models import Study
from tests.databases import close_elsewhere
from tests.experiment.http_client import database_url
from tests.experiment.people import finish, start
from tests.factories import make_study
from tests.storages import store_files_in

Backup = Callable[..., Path]


@pytest.fixture(autouse=True)
def files(settings: Any, tmp_path: Path, transactional_db: None) -> Path:
    close_elsewhere()
    store_files_in(settings, tmp_path / "files")
    settings.PORT = 1  # nobody answers there
    return tmp_path / "files"


@pytest.fixture
def study() -> Study:
    study = make_study(recruitment="open")
    finish(study)
    start(study)
    return study


@pytest.fixture
def backup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Backup:
    """Make one; its folder."""

    def make(**options: Any) -> Path:
        capsys.readouterr()
        call_command("backup", output=tmp_path / "backups", json=True, **options)
        return Path(json.loads(capsys.readouterr().out)["backup"])

    return make


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """The URL of a database without tables."""
    if connection.vendor == "sqlite":
        yield f"sqlite:///{tmp_path / 'elsewhere.sqlite3'}"
        return
    name = f"{connection.settings_dict['NAME']}_elsewhere"
    own = database_url().partition("?")[0]
    with psycopg.connect(own, autocommit=True) as admin:
        admin.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        yield own.replace(f"/{connection.settings_dict['NAME']}", f"/{name}")
        admin.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
