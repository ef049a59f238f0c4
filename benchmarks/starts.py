"""What the start of a command, and of a worker, costs: CPU time of a process until it would do its work."""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

READY = "ready."
WORKER = ["-m", "celery", "-A", "config", "worker", "--loglevel", "INFO", "--pool", "solo"]


def measure_command() -> float:
    """CPU-seconds of a command that has nothing to do."""
    return _cpu_of_children(
        lambda: subprocess.run(
            [sys.executable, "manage.py", "check_counters", "--help"],
            cwd=settings.BASE_DIR,
            stdout=subprocess.DEVNULL,
            check=True,
        )
    )


def measure_worker() -> float:
    """CPU-seconds of a worker until it waits for work; its messages are files in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="bench-worker-") as folder:
        return _cpu_of_children(lambda: _start_worker(Path(folder)))


def _start_worker(folder: Path) -> None:
    own = {"VAR_DIR": str(folder), "CELERY_BROKER_URL": "filesystem://", "DATABASE_URL": ""}
    worker = subprocess.Popen(
        [sys.executable, *WORKER],
        cwd=settings.BASE_DIR,
        env=os.environ | own,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert worker.stderr is not None
    for line in worker.stderr:
        if line.rstrip().endswith(READY):
            break
    worker.kill()
    worker.wait()
    worker.stderr.close()


def _cpu_of_children(work: Callable[[], object]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
