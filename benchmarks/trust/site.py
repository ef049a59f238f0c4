"""The site as it is deployed, in processes that a check may kill, stop and start again."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from benchmarks.web.processes import PROC
from benchmarks.web.site import GUNICORN, environment_of, free_port, spawn, wait_until_listens

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
