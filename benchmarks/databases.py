"""Scratch databases for benchmarks: the site's is not touched, and what is made here is gone afterwards."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg.sql import SQL, Identifier

from scripts.with_postgres import find_server


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
        yield None if url is None else stack.enter_context(_database(url))


@contextmanager
def _database(server: str) -> Iterator[str]:
    name = f"bench_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        create = "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'"
        connection.execute(SQL(create).format(Identifier(name)))
        try:
            yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        finally:
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
