"""Site of an upgrade: its folders, its keys and its processes. Loads no Django."""

import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KINDS = ("sqlite", "postgresql")
BACKUP, EXPECTED = "backup", "expected.json"
# Folders below VAR_DIR: tombstones of who withdrew after the backup, and what no backup has
BESIDE = ("withdrawals", "corpora", "trainings")
# Made up for these sites alone, so that cookies and codes open years later; they protect nothing
KEYS = {
    "SECRET_KEY": "made-up-key-of-the-upgrade-tests-which-protects-nothing-at-all-1",
    "WITHDRAWAL_KEY": "made-up-key-of-the-upgrade-tests-which-protects-nothing-at-all-2",
}
# A server of models, which `server_at` puts wherever a process has its stub
HOST, PORT = "models.example", 8000
MODEL_SERVER = f"http://{HOST}:{PORT}"
PATIENCE_S = 300  # a busy machine; nothing waits for it to pass


@dataclass(frozen=True)
class Site:
    """A database, and the folder of all files."""

    database_url: str
    var: Path

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": self.database_url,
            "VAR_DIR": str(self.var),
            "SCORING_HOSTS": f"{HOST},127.0.0.1",
            "STATIC_HASHED": "0",
            "OMP_NUM_THREADS": "1",
            "PORT": "1",  # nobody answers there
            **KEYS,
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python with these arguments on the site."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def output(self, *arguments: str) -> str:
        """As `run`, of a process that must end well: its standard output."""
        done = self.run(*arguments)
        assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def manage(self, *arguments: str) -> str:
        return self.output("manage.py", *arguments)


def pack(folder: Path, archive: Path) -> None:
    """Write a folder as a small archive; nobody's name is in it."""

    def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(archive, "w:xz", preset=9) as tar:
        tar.add(folder, arcname=".", filter=anonymous)


def unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")


@contextmanager
def server_at(port: int) -> Iterator[None]:
    """Within it, the server of models is at this port of this machine."""
    connect: Any = anyio.connect_tcp

    def connect_tcp(remote_host: str, remote_port: int, **options: Any) -> Any:
        there = ("127.0.0.1", port) if remote_host == HOST else (remote_host, remote_port)
        return connect(*there, **options)

    with patch.object(anyio, "connect_tcp", connect_tcp):
        yield
