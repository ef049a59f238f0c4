"""`score --workers`: real processes share the runs of one command, and come to what one process comes to."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from experiment.models import Study
from lib.jobs.workers import Worker
from scoring.management.workers import environments, gpus
from scoring.models import ScoringRun
from tests.experiment.http_client import ROOT
from tests.factories import make_study
from tests.scoring import commands
from tests.scoring.commands import score
from tests.scoring.processes.test_crash import heed_interrupts
from tests.scoring.tiny_models import save_gpt2

# Other processes look at the database: nothing is rolled back
pytestmark = pytest.mark.django_db(transaction=True)
TIMEOUT_S = 300  # a busy machine; nothing waits for it to pass
POLL_S = 0.02
TRIES = 5


@pytest.fixture
def study() -> Study:
    return make_study("memory", human=10, machine=6)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("models")
    return [save_gpt2(folder / name, seed=n) for n, name in enumerate(("one", "two"))]


@pytest.fixture
def command(models: list[Path]) -> list[str]:
    """Two models under two conditions."""
    words = [word for path in models for word in ("--model_args", f"pretrained={path}")]
    return [
        *(sys.executable, "manage.py", "score", "--study", "memory", "--model", "hf", *words),
        *("--conditions", "full,isolated", "--batch_tokens", "300", "--json"),
    ]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return commands.environment(tmp_path, CUDA_VISIBLE_DEVICES="")


@pytest.fixture
def alone(study: Study, command: list[str], kept: list[Any]) -> list[dict[str, Any]]:
    """The results of a single process, ours; the same for all tests here."""
    if not kept:
        printed, _, error = score(*command[3:])
        assert error is None
        kept[:] = json.loads(printed)["results"]
    return kept


@pytest.fixture(scope="module")
def kept() -> list[Any]:
    return []


def results(command: list[str], environment: dict[str, str]) -> list[dict[str, Any]]:
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, timeout=TIMEOUT_S
    )
    assert done.returncode == 0, done.stderr.decode()
    return list(json.loads(done.stdout)["results"])


# The killed workers below come to the same
@pytest.mark.sweep
def test_two_workers_come_to_what_one_process_comes_to(
    alone: list[dict[str, Any]], command: list[str], environment: dict[str, str]
) -> None:
    n_before = ScoringRun.objects.count()
    shared = results([*command, "--workers", "2"], environment)
    assert [one["scores"] for one in shared] == [one["scores"] for one in alone]
    assert [one["accuracy"] for one in shared] == [one["accuracy"] for one in alone]
    runs = ScoringRun.objects.order_by("pk")[n_before:]
    assert [run.status for run in runs] == ["finished"] * 4
    # Nothing else that waits is touched, and what is finished is not scored again
    printed, _, error = score(*command[3:], "--workers", "2", "--resume")
    assert error is None
    again = json.loads(printed)["results"]
    assert [one["scores"] for one in again] == [one["scores"] for one in alone]
    assert ScoringRun.objects.count() == n_before + 4


@pytest.mark.sweep
def test_interrupted_workers_put_their_runs_back_and_resume_to_the_same(
    alone: list[dict[str, Any]], command: list[str], environment: dict[str, str]
) -> None:
    n_before = ScoringRun.objects.count()
    process = subprocess.Popen(
        [*command, "--workers", "2"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heed_interrupts,
    )
    until = time.monotonic() + TIMEOUT_S
    while process.poll() is None and ScoringRun.objects.count() == n_before:
        assert time.monotonic() < until
        time.sleep(POLL_S)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=TIMEOUT_S)
    assert not ScoringRun.objects.filter(status="running").exists()
    resumed = results([*command, "--workers", "2", "--resume"], environment)
    assert [one["scores"] for one in resumed] == [one["scores"] for one in alone]


def kill_one_at_work(parent: subprocess.Popen[bytes]) -> bool:
    """Kill the first worker that is seen at a run; False if the command was over before."""
    until = time.monotonic() + TIMEOUT_S
    while parent.poll() is None:
        assert time.monotonic() < until
        at_work = Worker.read(
            ScoringRun.objects.filter(status="running").values_list("worker", flat=True).first()
            or ""
        )
        if at_work is not None:
            with suppress(ProcessLookupError):
                os.kill(at_work.pid, signal.SIGKILL)
                return True
        time.sleep(POLL_S)
    return False


def test_another_worker_takes_up_what_a_killed_one_had(
    alone: list[dict[str, Any]], command: list[str], environment: dict[str, str]
) -> None:
    for _ in range(TRIES):
        process = subprocess.Popen(
            [*command, "--workers", "2"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        was_killed = kill_one_at_work(process)
        out, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, err.decode()
        assert [one["scores"] for one in json.loads(out)["results"]] == [
            one["scores"] for one in alone
        ]
        if was_killed:
            return
    pytest.fail("no worker was seen at work")


def test_each_worker_has_a_gpu_or_a_share_of_the_cores() -> None:
    assert gpus({"CUDA_VISIBLE_DEVICES": "0,GPU-1f"}) == ["0", "GPU-1f"]
    assert [one["CUDA_VISIBLE_DEVICES"] for one in environments(3, ["4", "7"], 8)] == [
        "4",
        "7",
        "4",
    ]
    assert environments(3, [], 2) == [{"OMP_NUM_THREADS": "1"}] * 3
