"""PostgreSQL's own programs: which are new enough, how they learn where the database is, and what they say when they fail.

Passwords reach them by libpq's environment variables, never on a command line.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from psycopg.pq import Conninfo

from lib.backup.manifest import BackupError

DEBIAN = Path("/usr/lib/postgresql")  # a folder for each version that is installed


def environment(values: Mapping[str, Any]) -> dict[str, str]:
    """How libpq's programs find the database that Django's settings name."""
    named = {"dbname": values["NAME"], "user": values["USER"], "password": values["PASSWORD"]}
    named |= {"host": values["HOST"], "port": values["PORT"]} | dict(values["OPTIONS"])
    named["options"] = ""  # a page's limits of time are none of theirs
    variables = {
        option.keyword.decode(): option.envvar.decode()
        for option in Conninfo.get_defaults()
        if option.envvar
    }
    said = {
        variables[key]: str(value) for key, value in named.items() if key in variables and value
    }
    return {**os.environ, "PGOPTIONS": "", **said}


def program(name: str, server: int) -> str:
    """The path of a program that is not older than the server's major version; the same version before newer ones."""
    folders = [Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep)]
    paths = [folder / name for folder in (*folders, *sorted(DEBIAN.glob("*/bin")))]
    versions = {path: _version(path) for path in paths if os.access(path, os.X_OK)}
    usable = [(version, n) for n, version in enumerate(versions.values()) if version >= server]
    if usable:
        return str(list(versions)[min(usable)[1]])
    if not versions:
        raise BackupError(f"{name} is not installed: install PostgreSQL's client programs.")
    raise BackupError(
        f"{name} is of version {max(versions.values())}, and the server of {server}: "
        f"install PostgreSQL's client programs of version {server} or newer."
    )


def _version(path: Path) -> int:
    asked = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"\) (\d+)", asked.stdout)
    return int(found[1]) if found else 0


@contextmanager
def running(
    command: list[str], values: Mapping[str, Any] | None = None, *, reads: bool = False
) -> Iterator[IO[bytes]]:
    """The output of a program, or its input if it `reads`; BackupError with what it said where it fails."""
    variables = dict(os.environ) if values is None else environment(values)
    stdin = subprocess.PIPE if reads else subprocess.DEVNULL
    stdout = subprocess.DEVNULL if reads else subprocess.PIPE
    with TemporaryFile() as said:
        process = subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=said, env=variables)
        pipe = process.stdin if reads else process.stdout
        assert pipe is not None
        try:
            try:
                yield pipe
                pipe.close()
            except BrokenPipeError:
                if not reads:
                    raise
            if process.wait() != 0:
                raise BackupError(_sentence(command, process.returncode, said))
        finally:
            process.kill()
            process.wait()
            with suppress(BrokenPipeError):
                pipe.close()


def _sentence(command: list[str], status: int, said: IO[bytes]) -> str:
    """The first error that it named, on one line."""
    said.seek(0)
    lines = said.read().decode(errors="replace").splitlines()
    errors = [line for line in lines if "error" in line.lower()] or lines
    what = errors[0].strip() if errors else f"it ended with the status {status}"
    return f"{Path(command[0]).name} failed: {what}"
