"""The site as it is deployed, in processes that a fault may kill, stop and start again; and a Redis server likewise."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from benchmarks.web.processes import PROC
from benchmarks.web.site import (
    GUNICORN,
    environment_of,
    free_port,
    listens,
    spawn,
    wait_until_listens,
)

WITHIN_S = 60.0
LOOKS_S = 0.05


def wait_until(holds: Callable[[], object], within_s: float = WITHIN_S) -> float:
    """Wait until it holds; the seconds that it took.

    Raises:
        TimeoutError: it never did.
    """
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > within_s:
            raise TimeoutError(f"waited {within_s:.0f} s in vain")
        time.sleep(LOOKS_S)
    return time.monotonic() - began


INSTALLED = Path(sys.executable).with_name("redis-server")


def _program() -> str | None:
    return shutil.which("redis-server") or shutil.which(INSTALLED)


def missing_redis() -> str:
    """Why no server can be started here."""
    return "" if _program() else "there is no redis-server on the PATH"


@dataclass
class Broker:
    """It keeps nothing: what it held is gone with it."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        program = _program()
        assert program is not None
        where = ("--bind", "127.0.0.1", "--port", str(self.port), "--dir", self.folder)
        with (self.folder / "redis.log").open("ab") as log:
            self.process = subprocess.Popen(
                [program, *where, "--save", ""], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        wait_until(lambda: listens(self.port))

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


STOPS_WITHIN_S = 60
LOG = "site.log"
PARENT, STARTED = 1, 19  # of what /proc/PID/stat says after the name, see proc_pid_stat(5)
WORK = ("manage.py", "work")
CELERY = (
    *("-m", "celery", "--app", "config", "worker", "--concurrency", "1"),
    *("--loglevel", "INFO", "--without-mingle"),
)


@dataclass
class Site:
    """gunicorn on one database, in one folder; the worker of its jobs where a check asks for it."""

    url: str
    folder: Path
    changes: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    web: subprocess.Popen[bytes] | None = None
    worker: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.folder / LOG

    @property
    def environment(self) -> dict[str, str]:
        return environment_of(self.url, self.folder, self.port) | self.changes

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self.web = self._started(GUNICORN)
        wait_until_listens(self.web, self.port, self.log)

    def start_worker(self, command: tuple[str, ...] = WORK) -> None:
        self.worker = self._started(command)

    def _started(self, command: tuple[str, ...]) -> subprocess.Popen[bytes]:
        return spawn([sys.executable, *command], settings.BASE_DIR, self.environment, self.log)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End web and worker, all processes of them: asked to, or with SIGKILL as when the power goes."""
        processes = [process for process in (self.web, self.worker) if process is not None]
        for process in processes:
            send(process, number)
        for process in processes:
            try:
                process.wait(STOPS_WITHIN_S)
            except subprocess.TimeoutExpired:
                send(process, signal.SIGKILL)
                process.wait()
        self.web = self.worker = None

    def web_processes(self) -> list[int]:
        """The processes that answer; the first process of gunicorn only watches them."""
        assert self.web is not None
        return self.below(self.web)

    def below(self, process: subprocess.Popen[bytes]) -> list[int]:
        """The processes that it has started, the oldest first: ids begin again from low ones when they have been used up."""
        found = []
        for entry in PROC.glob("[0-9]*/stat"):
            try:
                fields = entry.read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            if int(fields[PARENT]) == process.pid:
                found.append((int(fields[STARTED]), int(entry.parent.name)))
        return [pid for _, pid in sorted(found)]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command of this site."""
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command, cwd=settings.BASE_DIR, env=self.environment, capture_output=True, text=True
        )


def send(process: subprocess.Popen[bytes], number: int) -> None:
    """To all processes of the group, also those that are paused."""
    try:
        os.killpg(process.pid, number)
        os.killpg(process.pid, signal.SIGCONT)
    except ProcessLookupError:
        pass
