"""A gunicorn of our own on the test's database, and participants who visit it over real HTTP."""

import fcntl
import html
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urljoin, urlsplit

import requests
from django.conf import settings
from django.db import connection, connections

from tests.experiment.people import ABOUT_ME, RATED

ROOT = Path(__file__).resolve().parents[2]
HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')
TIMEOUT_S = 60  # a busy machine; nothing here waits for it to pass
T = TypeVar("T")


def hidden_fields(page: str) -> dict[str, str]:
    """The hidden inputs of a page, which a browser sends along with what a person fills in."""
    return {name: html.unescape(value) for name, value in HIDDEN.findall(page)}


def at_once(jobs: Iterable[Callable[[], T]]) -> list[T]:
    """Run all jobs, each in its own thread and with its own database connection, let go at the same moment.

    One crowd on the machine at a time: PostgreSQL refuses the 101st connection, of whichever test.
    """
    jobs = list(jobs)
    start = threading.Barrier(len(jobs))

    def run(job: Callable[[], T]) -> T:
        try:
            start.wait(timeout=TIMEOUT_S)
            return job()
        finally:
            connections.close_all()

    crowd = Path(tempfile.gettempdir()) / f"brainbench-crowd-{os.getuid()}.lock"
    with crowd.open("w") as lock, ThreadPoolExecutor(len(jobs)) as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return list(pool.map(run, jobs))


def database_url() -> str:
    """The test's database, as DATABASE_URL says it."""
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{quote(str(values['NAME']))}"
    login = f"{quote(values['USER'])}:{quote(values['PASSWORD'], safe='')}"
    host = f"{values['HOST']}:{values['PORT'] or 5432}"
    options = {name: text for name, text in values["OPTIONS"].items() if isinstance(text, str)}
    return f"postgres://{login}@{host}/{quote(values['NAME'])}?{urlencode(options)}".rstrip("?")


def run_until_killed(script: str, *arguments: object, **environment: str) -> None:
    """Run a script that kills its own process, which works on the test's database."""
    said = {
        **os.environ,
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SECRET_KEY": settings.SECRET_KEY,
        **environment,
    }
    command = [sys.executable, "-c", script, *map(str, arguments)]
    ended = subprocess.run(command, cwd=ROOT, env=said, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


class Server:
    """The site as it is served: a gunicorn of two processes with seven threads each, in a group of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / "gunicorn.log"
        self.environment = {
            **os.environ,
            "DATABASE_URL": database_url(),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "SECRET_KEY": settings.SECRET_KEY,  # it knows the people whom the test lets in itself
            "WITHDRAWAL_KEY": settings.WITHDRAWAL_KEY,
            "VAR_DIR": str(folder),
            "PORT": str(port),
            "WORKERS": "2",
            # On a slow machine a crowd waits longer than a site lets it: for a lock, and for one of its transactions,
            # of which there are as many as threads below 8 (Env.most_transactions)
            "THREADS": "7",
            "DATABASE_LOCK_SECONDS": str(TIMEOUT_S),
            "DATABASE_STATEMENT_SECONDS": str(TIMEOUT_S),
            "STATIC_HASHED": "0",
        }
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it says that it listens."""
        command = [
            sys.executable,
            "-m",
            "gunicorn",
            "--config",
            "config/gunicorn.py",
            "config.wsgi",
        ]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        assert self.process.stdout is not None
        first_line = self.process.stdout.readline()
        assert first_line.startswith("Serving"), self.log.read_text()

    def stop(self, signal_number: int = signal.SIGTERM) -> None:
        """End every process of the group."""
        if self.process is None:
            return
        os.killpg(self.process.pid, signal_number)
        self.process.wait(timeout=TIMEOUT_S)
        if self.process.stdout is not None:
            # At an end once the last worker is gone, whoever was its parent
            self.process.stdout.read()
            self.process.stdout.close()
        self.process = None

    def kill(self) -> None:
        """As when the machine's power goes: no one is asked, nothing is tidied up."""
        self.stop(signal.SIGKILL)


class Visitor:
    """A participant with a browser of their own. Pages and answers are requests' responses."""

    def __init__(self, server_url: str, slug: str) -> None:
        self.entry = f"{server_url}/s/{slug}/"
        self.session = requests.Session()
        self.session.trust_env = False  # no proxy is between us

    def __enter__(self) -> "Visitor":
        return self

    def __exit__(self, *_: object) -> None:
        self.session.close()

    def open(self, address: str = "") -> requests.Response:
        """The page at this address, or where it leads."""
        page = self.session.get(urljoin(self.entry, address), timeout=TIMEOUT_S)
        assert page.status_code == 200, page.text
        return page

    def prepare(self, page: requests.Response, **filled_in: Any) -> requests.PreparedRequest:
        """The request that sends a page's form."""
        request = requests.Request("POST", page.url, data=hidden_fields(page.text) | filled_in)
        return self.session.prepare_request(request)

    def send(self, page: requests.Response, **filled_in: Any) -> requests.Response:
        """Fill in a page and send it; the answer, not where it leads."""
        prepared = self.prepare(page, **filled_in)
        return self.session.send(prepared, allow_redirects=False, timeout=TIMEOUT_S)

    def go_on(self, page: requests.Response, **filled_in: Any) -> requests.Response:
        """Send a page, and open the next one."""
        answer = self.send(page, **filled_in)
        assert answer.status_code == 303, answer.text
        return self.open(answer.headers["Location"])

    def reach_first_trial(self) -> requests.Response:
        """From the study's link to the first trial."""
        page = self.go_on(self.open(), agree="yes")
        page = self.go_on(page, **ABOUT_ME)
        answer = self.send(page, side="A", **RATED)
        if urljoin(page.url, answer.headers["Location"]) == page.url:  # the other side is right
            answer = self.send(page, side="B", **RATED)
        return self.go_on(self.open(answer.headers["Location"]))


def send_bytes(server_url: str, request: bytes) -> tuple[int, str]:
    """Send these bytes and nothing more; the answer's status and all of its text."""
    parts = urlsplit(server_url)
    with socket.create_connection((parts.hostname, parts.port), timeout=TIMEOUT_S) as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has heard enough
        answer = b""
        try:
            while received := connection.recv(65_536):
                answer += received
        except ConnectionResetError:
            pass  # after its answer, since we had more to say
    return int(answer.split(b" ", 2)[1]), answer.decode(errors="replace")


def send_copies(prepared: requests.PreparedRequest, n: int) -> list[requests.Response]:
    """Send one request `n` times at once, every other time as the page's own script would."""

    def send(number: int) -> requests.Response:
        copy = prepared.copy()
        if number % 2:
            copy.headers["Accept"] = "application/json"
        with requests.Session() as session:
            return session.send(copy, allow_redirects=False, timeout=TIMEOUT_S)

    return at_once([lambda number=number: send(number) for number in range(n)])
