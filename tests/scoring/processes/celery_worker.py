"""A Celery worker on the test's database, in processes of its own that can be killed."""

import math
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import redis

from config.celery import site_name
from config.env import parse_database_url
from scoring.models import ScoringRun
from tests.experiment.http_client import ROOT, database_url
from tests.scoring.commands import environment

FILES = "filesystem://"
REDIS = "redis://127.0.0.1:6379/0"
STALE_S = 2
TIMEOUT_S = 300  # a busy machine; nothing waits for it to pass
POLL_S = 0.01


def has_redis() -> bool:
    try:
        socket.create_connection(("127.0.0.1", 6379), timeout=2).close()
    except OSError:
        return False
    return True


class Worker:
    """`celery -A config worker --concurrency 1`: a process, and with some brokers one below it that scores."""

    def __init__(self, folder: Path, broker: str) -> None:
        self.broker, self.log = broker, folder / "worker.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.environment = environment(
            folder,
            CELERY_BROKER_URL=broker,
            JOB_EXECUTOR="celery",
            JOB_STALE_SECONDS=str(STALE_S),
            PYTHONWARNINGS="ignore",  # of running as root, in a container
        )

    def start(self) -> None:
        if self.process is not None:
            return
        command = [sys.executable, "-m", "celery", "-A", "config", "worker", "--concurrency", "1"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--loglevel", "INFO", "--without-mingle"],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,  # so that both can be killed at once
            )

    def kill(self) -> None:
        """Both processes at once, as a power cut would."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=TIMEOUT_S)
            self.process = None

    def kill_below(self) -> None:
        """The one that scores alone, as the kernel does when memory runs out; all if it is the only one."""
        assert self.process is not None
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], stdout=subprocess.PIPE)
        for pid in found.stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        if not found.stdout.strip():
            self.kill()

    def wait_for(
        self, run: ScoringRun, *, done: int = 0, status: str = "", at_most_s: float = math.inf
    ) -> None:
        """Until so many pairs of a run are done, it has this status, or the time is over."""
        begun = time.monotonic()
        until = begun + TIMEOUT_S
        while True:
            run.refresh_from_db(fields=["done", "status", "error"])
            if run.status == status or (done and run.done >= done):
                return
            if time.monotonic() - begun > at_most_s:
                return
            assert run.status in ("waiting", "running"), run.error
            assert self.process is not None
            assert self.process.poll() is None, self.log_tail()
            assert time.monotonic() < until, self.log_tail()
            time.sleep(POLL_S)

    def log_tail(self) -> str:
        return self.log.read_text()[-5000:]

    def leave_nothing(self) -> None:
        """End it, and remove what it left in a broker that others use too."""
        self.kill()
        if self.broker.startswith("redis:"):
            client = redis.Redis.from_url(self.broker)
            keys = list(client.scan_iter(f"{site_name(parse_database_url(database_url()))}:*"))
            if keys:
                client.delete(*keys)
            client.close()
