"""A PostgreSQL server of the benchmark's own, and empty databases that this process can fill."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.core.management import call_command
from django.db import connections
from django.db.utils import load_backend

from config.env import parse_database_url
from scripts.with_postgres import private_server

DURABLE = "-c max_connections=200"  # commits wait for the disk, as on a real site


@contextmanager
def postgres() -> Iterator[str]:
    """A server that is started for us, and removed afterwards; its URL."""
    with private_server(DURABLE) as server:
        yield server.url


def create_database(server_url: str, name: str) -> str:
    """An empty database; its URL."""
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return _of(server_url, name)


def _of(server_url: str, name: str) -> str:
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


def refresh_statistics(server_url: str, names: Iterable[str]) -> None:
    """What autovacuum does within a minute: without it the planner takes new tables for empty ones."""
    for name in names:
        with psycopg.connect(_of(server_url, name), autocommit=True) as connection:
            connection.execute("ANALYZE")


def postmaster_pid(server_url: str) -> int:
    """The process that all others of the server are below."""
    with psycopg.connect(server_url) as connection:
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
        assert row is not None
        fields = Path(f"/proc/{row[0]}/stat").read_text().rpartition(")")[2].split()
        return int(fields[1])


@contextmanager
def using(url: str) -> Iterator[None]:
    """Within it every query of this process goes to that database, which has all tables."""
    site = connections["default"]
    values: dict[str, Any] = {**site.settings_dict, "OPTIONS": {}, **parse_database_url(url)}
    values |= {"CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": False}
    if values["ENGINE"].endswith("sqlite3"):  # beside a site that writes: as its own settings
        values["OPTIONS"] = {"transaction_mode": "IMMEDIATE", "timeout": 30}
    wrapper = load_backend(values["ENGINE"]).DatabaseWrapper(values, alias="default")
    connections["default"] = wrapper
    try:
        call_command("migrate", verbosity=0)
        yield
    finally:
        wrapper.close()
        connections["default"] = site
