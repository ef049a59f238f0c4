"""A site in processes of its own, as an administrator starts it; knows nothing of Django's settings here."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STARTS_WITHIN_S = 180  # a busy machine


class SiteServer:
    """A server that can be killed and started again at the same address; `with_worker`: as `make serve` starts it."""

    def __init__(self, folder: Path, *, with_worker: bool = False, **more: str) -> None:
        gunicorn = ["-m", "gunicorn", "--config", "config/gunicorn.py", "config.wsgi"]
        self.command = [sys.executable, *(["scripts/serve.py"] if with_worker else gunicorn)]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.database = folder / "site.sqlite3"
        self.log = folder / "site.log"
        self.process: subprocess.Popen[bytes] | None = None
        settings = {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": f"sqlite:///{self.database}",
            "VAR_DIR": str(folder),
            "STATIC_HASHED": "0",
            "PORT": str(self.port),
            "BASE_URL": self.url,
            "WORKERS": "1",
            "SCORING_HOSTS": "127.0.0.1:*",  # where servers stand in for models'
        }
        self.environment = {**os.environ, **settings, **more}

    def manage(self, *arguments: str) -> bytes:
        """Run a command of the site; returns what it printed."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, check=True, stdout=subprocess.PIPE
        )
        return done.stdout

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,  # so that its workers can be killed with it
            )
        deadline = time.monotonic() + STARTS_WITHIN_S
        while not self._answers():
            assert time.monotonic() < deadline, self.log.read_text()
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=5) as response:
                return bool(response.status == 200)
        except OSError:
            return False

    def kill(self) -> None:
        """As a crash or a power cut would: at once, with all workers."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None
