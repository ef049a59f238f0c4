"""Databases for the checks: one is prepared of each kind, with an open study, and each check gets a copy of its own."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg.sql import SQL, Identifier

from benchmarks.trust.check import Database
from benchmarks.web.material import make_items
from benchmarks.web.site import make_study
from scripts.with_postgres import PrivateServer, private_server

# Commits wait for the disk, as on a real site
DURABLE = "-c max_connections=200"
PREPARED = "prepared"


@dataclass(frozen=True, slots=True)
class Source:
    """What copies are made of. `server` is a PostgreSQL server of our own, to be stopped and killed as a check likes."""

    kind: Database
    folder: Path
    server: PrivateServer | None
    numbers: Iterator[int]

    @contextmanager
    def copy(self) -> Iterator[str]:
        """The URL of a new copy; it is removed afterwards."""
        name = f"copy_{next(self.numbers)}"
        if self.server is None:
            path = self.folder / f"{name}.sqlite3"
            shutil.copy(self.folder / f"{PREPARED}.sqlite3", path)
            yield f"sqlite:///{path}"
            for left in self.folder.glob(f"{path.name}*"):
                left.unlink()
            return
        create = SQL("CREATE DATABASE {} TEMPLATE {}")
        self._execute(create.format(Identifier(name), Identifier(PREPARED)))
        try:
            yield named(self.server.url, name)
        finally:
            self._execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))

    def _execute(self, statement: object) -> None:
        assert self.server is not None
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]


@contextmanager
def prepare(kind: Database, folder: Path) -> Iterator[Source]:
    """A database of this kind with all tables and the open study `bench`."""
    with ExitStack() as stack:
        if kind is Database.SQLITE:
            source = Source(kind, folder, None, count(1))
            make_study(f"sqlite:///{folder / PREPARED}.sqlite3", make_items())
        else:
            server = stack.enter_context(private_server(DURABLE))
            source = Source(kind, folder, server, count(1))
            source._execute(SQL("CREATE DATABASE {}").format(Identifier(PREPARED)))
            make_study(named(server.url, PREPARED), make_items())
            source._execute(
                SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(Identifier(PREPARED))
            )
        yield source


def named(server_url: str, name: str) -> str:
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
