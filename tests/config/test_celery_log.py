"""The log of a Celery worker."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

TIMEOUT_S = 120  # a busy machine; nothing waits for it to pass


def test_a_workers_lines_are_the_sites(tmp_path: Path) -> None:
    """Objects in UTC, by the formatter that leaves out what a database quotes of its rows."""
    log = tmp_path / "log"
    environment = {
        "PATH": os.environ["PATH"],
        "VAR_DIR": str(tmp_path),
        "CELERY_BROKER_URL": "filesystem://",
        "JOB_EXECUTOR": "celery",
        "LOG_FORMAT": "json",
        "PYTHONWARNINGS": "ignore",  # of running as root, in a container
        "TZ": "Asia/Tokyo",
    }
    command = ["-m", "celery", "-A", "config", "worker", "--concurrency", "1", "--loglevel", "INFO"]
    with log.open("wb") as file:
        worker = subprocess.Popen(
            [sys.executable, *command, "--without-mingle"],
            cwd=settings.BASE_DIR,
            env=environment,
            stdout=subprocess.DEVNULL,  # its banner
            stderr=file,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + TIMEOUT_S
        while "ready" not in log.read_text() and worker.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
    text = log.read_text()
    assert text.endswith("\n"), text
    lines = [json.loads(line) for line in text.splitlines()]
    assert any("ready" in line["message"] for line in lines)
    for line in lines:
        age = datetime.now(UTC) - datetime.fromisoformat(line["time"])
        assert 0 <= age.total_seconds() < 2 * TIMEOUT_S
