"""Commands that are killed with SIGKILL amid their work and gone on with, on a scratch database (Linux: reads /proc)."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from benchmarks.answers.stub import JUDGE, CountingServer
from benchmarks.databases import scratch_sqlite
from scoring.domain.backend import ScoringError

LOOK_S = 0.02
STUDY = "bench"


@dataclass(frozen=True)
class Measured:
    """What one kind of work took.

    n: answers or grades that are due. lost: those that were not there in the end. requests, repeated: those that the server
    got, and of these what it had been asked before; most_repeated: what was under way at the kills. first_mib, peak_mib:
    the highest memory of a process before its first request, and at all.
    """

    what: str
    n: int
    lost: int
    requests: int
    repeated: int
    most_repeated: int
    kills: int
    seconds: float
    first_mib: float
    peak_mib: float


@dataclass
class _Peak:
    first_mib: float = 0.0
    mib: float = 0.0


def measure(questions: int, models: int, concurrency: int) -> Iterator[Measured]:
    """Answers of the models, one after the other, then grades of all: each process is killed once halfway.

    Raises:
        ScoringError: a command ended otherwise than it should.
    """
    with scratch_sqlite() as url, tempfile.TemporaryDirectory(prefix="bench-answers-") as folder:
        own = {"DATABASE_URL": url, "VAR_DIR": folder, "SCORING_API_KEY": ""}
        environment = os.environ | own
        _run(environment, ["bench_answers", "--prepare", str(questions)])
        with CountingServer() as server:
            works = [(f"writer-{n}", "answer", "--model", questions) for n in range(models)]
            yield _measured("answers", works, server, environment, concurrency)
        with CountingServer() as server:
            works = [(JUDGE, "grade", "--judge", questions * models)]
            yield _measured("grades", works, server, environment, concurrency)


def prepare(questions: int) -> None:
    """A study with so many questions, in this process's database, which is empty."""
    from django.core.management import call_command

    from experiment.models import Item, StudyItem
    from experiment.services.study_setup import create_study

    call_command("migrate", verbosity=0)
    study = create_study(STUDY, "brainbench", contact="lab@example.org")
    about = "Which gene is behind the disorder that the textbook describes in its chapter"
    items = [
        Item(
            key=f"bench-{n}",
            kind=Item.Kind.QUESTION,
            markup=f"{about} {n}, and what does its product do?",
            expert_answer=f"Gene {n} is, whose product binds to the membranes of synaptic vesicles.",
            categories={"Topic": ["Genes"]},
            status=Item.Status.ACCEPTED,
        )
        for n in range(questions)
    ]
    for item in items:
        item.derive_texts()
    Item.objects.bulk_create(items)
    StudyItem.objects.bulk_create(StudyItem(study=study, item=item) for item in items)


def _measured(
    what: str,
    works: Sequence[tuple[str, str, str, int]],
    server: CountingServer,
    environment: dict[str, str],
    concurrency: int,
) -> Measured:
    peak, began, done = _Peak(), time.monotonic(), 0
    for model, command, flag, due in works:
        args = f"base_url={server.url},model={model},concurrency={concurrency},max_tokens=256"
        line = [command, "--study", STUDY, flag, "chat", "--model_args", args, "--json"]
        before = server.n_requests
        with _process(environment, line) as process:
            _follow(process, server, peak, kill_at=before + due // 2)
        with _process(environment, [*line, "--resume"]) as process:
            done += _stored(_follow(process, server, peak))
    due_in_all = sum(due for *_, due in works)
    return Measured(
        what,
        due_in_all,
        lost=due_in_all - done,
        requests=server.n_requests,
        repeated=server.n_repeated,
        most_repeated=concurrency * len(works),
        kills=len(works),
        seconds=round(time.monotonic() - began, 1),
        first_mib=round(peak.first_mib, 1),
        peak_mib=round(peak.mib, 1),
    )


def _stored(said: dict[str, Any]) -> int:
    """Answers, or grades that can be read, as the command counts them in the end."""
    if "states" in said:
        return int(said["states"].get("stop", 0))
    return sum(counts["good"] for counts in said["models"].values())


@contextmanager
def _process(environment: dict[str, str], line: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "manage.py", *line],
        cwd=settings.BASE_DIR,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _follow(
    process: subprocess.Popen[str], server: CountingServer, peak: _Peak, kill_at: int | None = None
) -> dict[str, Any]:
    """Watch its memory until it ends, or until the server has had so many requests, when it is killed.

    Returns:
        What it says in JSON; nothing where it was killed.
    """
    before = server.n_requests
    while process.poll() is None:
        mib = _most_mib(process.pid)
        peak.mib = max(peak.mib, mib)
        if server.n_requests == before:
            peak.first_mib = max(peak.first_mib, mib)
        if kill_at is not None and server.n_requests >= kill_at:
            process.send_signal(signal.SIGKILL)
            process.wait()
            return {}
        time.sleep(LOOK_S)
    if process.returncode or kill_at is not None:
        raise ScoringError(f"It ended too early, or with an error: {process.args!r}.")
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.read())
    return found


def _most_mib(pid: int) -> float:
    """The most memory that the process itself has had so far; 0 where it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return int(lines.get("VmHWM", "0").split()[0]) / 1024


def _run(environment: dict[str, str], line: Sequence[str]) -> None:
    said = subprocess.run(
        [sys.executable, "manage.py", *line],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
    )
    if said.returncode:
        raise ScoringError(f"“{' '.join(line)}” failed: {said.stderr.strip()[-500:]}")
