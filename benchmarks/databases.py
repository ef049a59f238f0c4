"""Databases and a PostgreSQL server of the benchmarks' own: the site's is not touched, and what is made is gone afterwards."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psutil
import psycopg
from django.core.management import call_command
from django.db import connections
from django.db.utils import load_backend
from psycopg.sql import SQL, Identifier

from config.env import parse_database_url
from scripts.with_postgres import find_server, private_server


@contextmanager
def scratch_sqlite() -> Iterator[str]:
    """The URL of a new SQLite file without tables."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        yield f"sqlite:///{Path(folder) / 'scratch.sqlite3'}"


@contextmanager
def scratch_postgres() -> Iterator[str | None]:
    """The URL of a new PostgreSQL database without tables; None where no server can be had.

    It is made on the site's server where that is PostgreSQL, else on the tests' one or on a private one.
    """
    site = os.environ.get("DATABASE_URL", "")
    with ExitStack() as stack:
        try:
            server = find_server(site if site.startswith("postgres") else "")
            url = stack.enter_context(server)
        except SystemExit:  # what is missing was said
            url = None
        yield None if url is None else stack.enter_context(_made(url))


@contextmanager
def _made(server: str) -> Iterator[str]:
    name = f"bench_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        create = "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'"
        connection.execute(SQL(create).format(Identifier(name)))
        try:
            yield named(server, name)
        finally:
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


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
    return named(server_url, name)


def named(server_url: str, name: str) -> str:
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))


def refresh_statistics(server_url: str, names: Iterable[str]) -> None:
    """Does what autovacuum does within a minute: without it the planner takes new tables for empty ones."""
    for name in names:
        with psycopg.connect(named(server_url, name), autocommit=True) as connection:
            connection.execute("ANALYZE")


def postmaster_pid(server_url: str) -> int:
    """The process that all others of the server are below."""
    with psycopg.connect(server_url) as connection:
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
        assert row is not None
        return int(psutil.Process(row[0]).ppid())


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


@contextmanager
def scratch_database() -> Iterator[None]:
    """Within it every query goes to a new SQLite file with all tables; it is gone afterwards."""
    with scratch_sqlite() as url, using(url):
        yield
