"""The site and its worker, under one process: `python scripts/serve.py`.

Either is ended with it. A worker that dies is started again; when the site dies, so does this, for whoever started it to
see. With JOB_EXECUTOR=celery it serves the site alone.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = [sys.executable, "-m", "gunicorn", "--config", "config/gunicorn.py", "config.wsgi"]
WORKER = [sys.executable, "manage.py", "work"]
POLL_S = 0.2
LONGEST_PAUSE_S = 60
LIVED_S = 60  # after which a worker's death is a new one, and not the last one's again
STOPPING_S = 60
DIES_WITH_PARENT = 1  # Linux' PR_SET_PDEATHSIG
Process = subprocess.Popen[bytes]


def main() -> int:
    """Serve until asked to stop; the exit status is 0 only then."""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stopped.set())
    site, worker = start(SITE), None if by_celery() else KeptAlive(WORKER)
    try:
        while not stopped.wait(POLL_S):
            if site.poll() is not None:
                print(f"The site ended with exit status {site.returncode}.", file=sys.stderr)
                return site.returncode or 1
            if worker is not None:
                worker.look()
        return 0
    finally:
        end([site] if worker is None or worker.process is None else [site, worker.process])


class KeptAlive:
    """A process that is started again when it ends: at once the first time, then after longer and longer pauses."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.process: Process | None = None
        self.pause_s = 0.0
        self.started_at = self.due_at = time.monotonic()

    def look(self) -> None:
        now = time.monotonic()
        if self.process is not None and self.process.poll() is not None:
            if now - self.started_at > LIVED_S:
                self.pause_s = 0.0
            print(
                f"The worker ended with exit status {self.process.returncode}; it will be started again "
                f"in {self.pause_s:.0f} s.",
                file=sys.stderr,
            )
            self.process, self.due_at = None, now + self.pause_s
            self.pause_s = min(max(1.0, 2 * self.pause_s), LONGEST_PAUSE_S)
        if self.process is None and now >= self.due_at:
            self.process, self.started_at = start(self.command), now


def by_celery() -> bool:
    name = os.environ.get("JOB_EXECUTOR", "")
    return name.strip() == "celery"


def start(command: list[str]) -> Process:
    # Should this process be killed, what it started is asked to end as well (where the system can do so)
    with_parent = die_with_parent if sys.platform == "linux" else None
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, preexec_fn=with_parent)


def die_with_parent() -> None:
    LIBC.prctl(DIES_WITH_PARENT, signal.SIGTERM)


def end(processes: list[Process]) -> None:
    """Ask all to end, and wait until they have."""
    for process in processes:
        process.terminate()
    until = time.monotonic() + STOPPING_S
    for process in processes:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


LIBC = ctypes.CDLL(None)

if __name__ == "__main__":
    sys.exit(main())
