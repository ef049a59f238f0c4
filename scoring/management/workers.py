"""Worker processes of one command: each scores runs of a list, one after the other, on a GPU of its own where there are."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from signal import SIGINT
from typing import IO

from django.conf import settings
from django.db.models import Sum
from django.db.models.functions import Coalesce

from lib.jobs import leases
from lib.jobs.leases import MAX_ATTEMPTS, renew_connection
from scoring.models import ScoringRun

PER_GPU = "gpus"
POLL_S = 0.5
STOPPING_S = 60  # a batch is finished or dropped within
Process = subprocess.Popen[bytes]


def gpus(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The GPUs that this process may use, by the names that CUDA_VISIBLE_DEVICES takes; torch is not asked.

    >>> gpus({"CUDA_VISIBLE_DEVICES": "2,3"}), gpus({"CUDA_VISIBLE_DEVICES": ""})
    (['2', '3'], [])
    """
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [name.strip() for name in visible.split(",") if name.strip()]
    with suppress(OSError, subprocess.SubprocessError):
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30)
        if listed.returncode == 0:
            return [str(n) for n, _ in enumerate(listed.stdout.splitlines())]
    return []


def environments(n: int, devices: Sequence[str], cores: int) -> list[dict[str, str]]:
    """The environments of n workers: a GPU for each, or a share of the cores.

    >>> environments(2, ["0", "1"], 8)
    [{'CUDA_VISIBLE_DEVICES': '0'}, {'CUDA_VISIBLE_DEVICES': '1'}]
    >>> environments(2, [], 8)
    [{'OMP_NUM_THREADS': '4'}, {'OMP_NUM_THREADS': '4'}]
    """
    if devices:
        return [{"CUDA_VISIBLE_DEVICES": devices[k % len(devices)]} for k in range(n)]
    return [{"OMP_NUM_THREADS": str(max(1, cores // n))} for _ in range(n)]


def work_off(runs: Sequence[int], n: int, on_progress: Callable[[int], None]) -> str:
    """Have n worker processes score the runs of these numbers; all that can be scored is, when it returns.

    A run whose worker was killed is taken up by another; one that kills its workers fails, as everywhere.

    Returns:
        What the workers said on standard error.
    """
    said = ""
    for _ in range(MAX_ATTEMPTS if runs else 0):
        with _workers(runs, n) as (processes, log):
            while any(process.poll() is None for process in processes):
                time.sleep(POLL_S)
                renew_connection()
                on_progress(_done(runs))
            log.seek(0)
            said += log.read().decode(errors="replace")
        of_command = ScoringRun.objects.filter(pk__in=runs)
        # Another worker of the site may have taken one
        while of_command.filter(status=ScoringRun.Status.RUNNING).exists():
            if leases.stale(of_command).exists():
                break
            time.sleep(POLL_S)
            on_progress(_done(runs))
        if not leases.waiting(of_command).exists() and not leases.stale(of_command).exists():
            break
    return said


def _done(runs: Sequence[int]) -> int:
    found = ScoringRun.objects.filter(pk__in=runs).aggregate(done=Coalesce(Sum("done"), 0))
    return int(found["done"])


@contextmanager
def _workers(runs: Sequence[int], n: int) -> Iterator[tuple[list[Process], IO[bytes]]]:
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "score", "--queue"]
    command += ["--runs", ",".join(map(str, runs))]
    own = environments(n, gpus(), os.cpu_count() or 1)
    with tempfile.TemporaryFile() as log:
        processes = [
            # What the user has set for all stays
            subprocess.Popen(
                command,
                env={**one, **os.environ} if "OMP_NUM_THREADS" in one else {**os.environ, **one},
                cwd=settings.BASE_DIR,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
            for one in own
        ]
        try:
            yield processes, log
        finally:
            # Workers that are still at work put their run back
            for process in processes:
                if process.poll() is None:
                    process.send_signal(SIGINT)
            for process in processes:
                try:
                    process.wait(STOPPING_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
