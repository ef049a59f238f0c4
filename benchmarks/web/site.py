"""This site as a lab serves it: gunicorn with its own settings, on a database and in a folder of its own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

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
    "LOG_LEVEL": "WARNING",
}
STARTS_WITHIN_S = 90


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that answers: where, its first process, and the file of its log."""

    port: int
    pid: int
    log: Path


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
        doi=f"10.1234/{item.key}",
        markup=item.markup,
        status=Item.Status.ACCEPTED,
    )


def collect_static(folder: Path) -> None:
    """The hashed copies of the static files, which every server with this folder shares."""
    command = [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"]
    environment = environment_of(f"sqlite:///{folder / 'none.sqlite3'}", folder, free_port())
    subprocess.run(command, cwd=settings.BASE_DIR, env=environment, check=True)


@contextmanager
def serve_site(
    url: str, folder: Path, command: Sequence[str] = GUNICORN, **changes: str
) -> Iterator[Serving]:
    """The site in processes of its own, until the end of the block; `changes` are more environment variables."""
    port = free_port()
    environment = environment_of(url, folder, port) | changes
    with started(
        [sys.executable, *command], settings.BASE_DIR, environment, port, folder / "site.log"
    ) as serving:
        yield serving


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


@contextmanager
def started(
    command: Sequence[str], folder: Path, environment: dict[str, str], port: int, log: Path
) -> Iterator[Serving]:
    """A server's processes, from when they answer to the end of the block."""
    process = spawn(command, folder, environment, log)
    try:
        wait_until_listens(process, port, log)
        yield Serving(port, process.pid, log)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


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


def wait_until_listens(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while not listens(port):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args!r} did not start:\n{log.read_text()[-2000:]}")
        time.sleep(0.05)


def listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
