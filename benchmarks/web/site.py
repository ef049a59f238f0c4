"""This site as a lab serves it, on a database and in a folder of its own: processes that a fault may kill, stop and start again."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import psutil
from django.conf import settings
from django.db import transaction

from benchmarks.databases import using
from benchmarks.web.material import MadeItem
from experiment.models import Item, Study
from experiment.services.study_setup import create_study, pin_items, set_recruitment

SLUG = "bench"
ENTRY = f"/s/{SLUG}/"
GUNICORN = ("-m", "gunicorn", "--config", "config/gunicorn.py", "config.wsgi")
# Whatever the settings of the site that this process belongs to
AS_DEPLOYED = {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "DEBUG": "0",
    "HTTPS": "0",
    "ALLOWED_HOSTS": "127.0.0.1",
    "STATIC_HASHED": "1",
    "ONE_ROOM": "1",  # all who come are on this machine
    "LOG_LEVEL": "WARNING",
    "SCORING_HOSTS": "127.0.0.1:*",  # where stubs stand in for models' servers
}
WORK = ("manage.py", "work")
CELERY = (
    *("-m", "celery", "--app", "config", "worker", "--concurrency", "1"),
    *("--loglevel", "INFO", "--without-mingle"),
)
STARTS_WITHIN_S, STOPS_WITHIN_S, WITHIN_S = 90, 60, 60.0
LOOKS_S = 0.05


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def make_study(url: str, items: Sequence[MadeItem]) -> None:
    """An open study of these items, with the settings of the preset, in the database at `url`."""
    with using(url), transaction.atomic():
        study = create_study(SLUG, "brainbench", contact="bench@example.org")
        pin_items(study, [_stored(item) for item in items])
        set_recruitment(study, Study.Recruitment.OPEN)


def _stored(item: MadeItem) -> Item:
    kinds = {"catch": Item.Kind.CATCH, "practice": Item.Kind.PRACTICE}
    is_machine = item.stratum == "machine"
    return Item.objects.create(
        key=item.key,
        kind=kinds.get(item.stratum, Item.Kind.TEST),
        source=Item.Source.MACHINE if is_machine else Item.Source.HUMAN,
        generator="GPT-4" if is_machine else "",
        subfield="Systems/Circuits",
        doi=f"10.1234/{item.key}",
        publication_date=date(2026, 3, 2),
        markup=item.markup,
        status=Item.Status.ACCEPTED,
    )


def collect_static(folder: Path) -> None:
    """The hashed copies of the static files, which every server with this folder shares."""
    command = [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"]
    environment = environment_of(f"sqlite:///{folder / 'none.sqlite3'}", folder, free_port())
    subprocess.run(command, cwd=settings.BASE_DIR, env=environment, check=True)


def environment_of(url: str, folder: Path, port: int) -> dict[str, str]:
    return {
        **os.environ,
        **AS_DEPLOYED,
        "DATABASE_URL": url,
        "VAR_DIR": str(folder),
        "FILES_URL": str(folder),
        "BIND": f"127.0.0.1:{port}",
        "BASE_URL": f"http://127.0.0.1:{port}",
    }


@dataclass
class Site:
    """gunicorn on one database, in one folder; the worker of its jobs where a check asks for it. `changes` are environment variables."""

    url: str
    folder: Path
    changes: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    web: subprocess.Popen[bytes] | None = None
    worker: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.folder / "site.log"

    @property
    def environment(self) -> dict[str, str]:
        return environment_of(self.url, self.folder, self.port) | self.changes

    @property
    def pid(self) -> int:
        """The first process of gunicorn, which only watches those that answer."""
        assert self.web is not None
        return self.web.pid

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
            end(process)
        self.web = self.worker = None

    def web_processes(self) -> list[int]:
        """The processes that answer."""
        return below(self.pid)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command of this site."""
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command, cwd=settings.BASE_DIR, env=self.environment, capture_output=True, text=True
        )


@contextmanager
def serve_site(url: str, folder: Path, **changes: str) -> Iterator[Site]:
    """The site with its web processes, until the end of the block."""
    site = Site(url, folder, changes)
    try:
        site.start()
        yield site
    finally:
        site.stop()


@contextmanager
def started(
    command: Sequence[str], folder: Path, environment: dict[str, str], port: int, log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A server's processes, from when they answer to the end of the block."""
    process = spawn(command, folder, environment, log)
    try:
        wait_until_listens(process, port, log)
        yield process
    finally:
        send(process, signal.SIGTERM)
        end(process)


def spawn(
    command: Sequence[str], folder: Path, environment: dict[str, str], log: Path
) -> subprocess.Popen[bytes]:
    """A group of processes of its own, so that all of them can be ended together; they write to the log."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def send(process: subprocess.Popen[bytes], number: int) -> None:
    """To all processes of the group, also those that are paused."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
        os.killpg(process.pid, signal.SIGCONT)


def end(process: subprocess.Popen[bytes]) -> None:
    """Wait for one that was asked to end; one that does not is killed."""
    try:
        process.wait(STOPS_WITHIN_S)
    except subprocess.TimeoutExpired:
        send(process, signal.SIGKILL)
        process.wait()


def below(pid: int) -> list[int]:
    """The processes that it has started, the oldest first: ids begin again from low ones when they have been used up."""
    found = []
    for child in psutil.Process(pid).children():
        with suppress(psutil.NoSuchProcess):  # it ended meanwhile
            found.append((child.create_time(), child.pid))
    return [number for _, number in sorted(found)]


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


def wait_until_listens(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while not listens(port):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args!r} did not start:\n{log.read_text()[-2000:]}")
        time.sleep(LOOKS_S)


def listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
