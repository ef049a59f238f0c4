"""scripts/serve.py: the site and its worker live and die together."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lib.jobs import workers
from lib.jobs.workers import Worker
from tests.experiment.http_client import ROOT
from tests.lib.test_worker import TIMEOUT_S, until
from tests.processes import on_the_tests_database

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started = []

    def start_one(**settings: str) -> "subprocess.Popen[str]":
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        process = subprocess.Popen(
            [sys.executable, "scripts/serve.py"],
            cwd=ROOT,
            env=on_the_tests_database(tmp_path)
            | {"STATIC_HASHED": "0", "WORKERS": "1", "PORT": port, **settings},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Serving")
        return process

    yield start_one
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def living_pids() -> list[int]:
    names = [Worker.read(row.name) for row in workers.living()]
    return [name.pid for name in names if name is not None]


def children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], stdout=subprocess.PIPE, text=True)
    return [int(line) for line in found.stdout.split()]


def is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_worker_that_dies_is_started_again_and_all_end_with_the_supervisor(start: Start) -> None:
    supervisor = start()
    until(living_pids)
    (first,) = living_pids()
    os.kill(first, signal.SIGKILL)
    until(lambda: living_pids() not in ([], [first]))
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(TIMEOUT_S) == 0
    until(lambda: not is_alive(supervisor.pid))  # what the killed worker had started sees it soon
    assert workers.living() == []


def test_where_the_site_dies_the_supervisor_ends_with_its_worker_and_says_so_by_its_status(
    start: Start,
) -> None:
    supervisor = start()
    until(living_pids)
    (site,) = set(children(supervisor.pid)) - set(living_pids())
    os.kill(site, signal.SIGTERM)
    assert supervisor.wait(TIMEOUT_S) != 0
    assert not is_alive(supervisor.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of it")
def test_a_supervisor_that_is_killed_leaves_nothing_behind(start: Start) -> None:
    supervisor = start()
    until(living_pids)
    os.kill(supervisor.pid, signal.SIGKILL)
    supervisor.wait()
    until(lambda: not is_alive(supervisor.pid))


def test_where_celery_does_the_work_the_site_is_served_alone(start: Start) -> None:
    supervisor = start(JOB_EXECUTOR="celery")
    # It would have been started before the site said that it listens
    assert len(children(supervisor.pid)) == 1
