"""Living workers and the jobs that they take, so that a page can say at once if nobody would do what is asked of it."""

import os
import secrets
import socket
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from time import monotonic

from django.db.models.functions import Now

from lib.jobs.models import Job, LivingWorker
from lib.jobs.queue import kinds

PROC = Path("/proc")


@dataclass(frozen=True)
class Worker:
    """A process' name in the database: `host:pid:start:random`.

    `start` distinguishes it from a later process of the same id, and from one in another container of the same host name;
    `random` distinguishes two pieces of its work.
    """

    host: str
    pid: int
    start: str
    random: str

    @classmethod
    def of_this_process(cls) -> "Worker":
        return cls(socket.gethostname(), os.getpid(), _start_of(os.getpid()), secrets.token_hex(4))

    @classmethod
    def read(cls, text: str) -> "Worker | None":
        """The worker of such a name; None where it is not one."""
        parts = text.rsplit(":", 3)
        if len(parts) != 4 or not parts[1].isdecimal():
            return None
        return cls(parts[0], int(parts[1]), parts[2], parts[3])

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}:{self.start}:{self.random}"

    @property
    def is_known_dead(self) -> bool:
        """True if it certainly lives no more. Of another host or container nothing is known."""
        here = Worker.of_this_process()
        if self.host != here.host or _place(self.start) != _place(here.start):
            return False
        return _start_of(self.pid) != self.start


def _place(start: str) -> str:
    return start.partition(".")[0]


def _start_of(pid: int) -> str:
    """`<process namespace>.<start in clock ticks since boot>`; where there is no /proc, whether it lives."""
    if PROC.is_dir():
        try:
            stat = (PROC / str(pid) / "stat").read_text()
        except OSError:
            return f"{_namespace()}.gone"
        # After the name, which is in brackets and may hold anything: state is field 3, start time field 22
        fields = stat.rpartition(")")[2].split()
        return f"{_namespace()}.{'gone' if fields[0] == 'Z' else fields[19]}"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "0.gone"
    except PermissionError:
        pass  # another user's, and alive
    return "0.alive"


def _namespace() -> str:
    """Number of this process' process namespace: a container has its own."""
    try:
        return os.readlink(PROC / "self" / "ns" / "pid").strip("pid:[]") or "0"
    except OSError:
        return "0"


BEAT_S = 10
SILENT_S = 40  # a busy machine misses a beat or two


class Presence:
    """A worker's own row: `beat` often, `leave` at the end."""

    def __init__(self) -> None:
        self.name = str(Worker.of_this_process())
        self.beaten_at: float | None = None

    def beat(self) -> None:
        """Say that it lives; asked again within some seconds, nothing is written."""
        if self.beaten_at is not None and monotonic() - self.beaten_at < BEAT_S:
            return
        if not LivingWorker.objects.filter(name=self.name).update(beat_at=Now()):
            LivingWorker.objects.filter(beat_at__lt=Now() - timedelta(days=1)).delete()
            taken = [kind._meta.label_lower for kind in kinds()]
            LivingWorker.objects.create(name=self.name, kinds=taken, beat_at=Now())
        self.beaten_at = monotonic()

    def leave(self) -> None:
        LivingWorker.objects.filter(name=self.name).delete()


def living() -> list[LivingWorker]:
    """The workers that live, the oldest first. One of this machine that was killed is missed at once."""
    recent = LivingWorker.objects.filter(beat_at__gte=Now() - timedelta(seconds=SILENT_S))
    found = [(row, Worker.read(row.name)) for row in recent.order_by("pk")]
    return [row for row, worker in found if worker is None or not worker.is_known_dead]


def is_taken(kind: type[Job]) -> bool:
    """True if a living worker takes jobs of this kind."""
    return any(kind._meta.label_lower in row.kinds for row in living())
