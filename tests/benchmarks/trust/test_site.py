"""A check finds the processes that it strikes."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks.trust import site
from benchmarks.trust.site import Site

PARENT = 30_000


@pytest.fixture
def gunicorn() -> Any:
    """A process without one: its id is all that is asked for."""
    process = subprocess.Popen.__new__(subprocess.Popen)
    process.pid, process.returncode = PARENT, 0
    return process


def test_the_oldest_process_comes_first_where_ids_began_again(
    gunicorn: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for pid, parent, started in ((30_001, PARENT, 500), (300, PARENT, 9_000), (299, 1, 100)):
        (tmp_path / str(pid)).mkdir()
        fields = ["S", str(parent), *["0"] * 17, str(started), "0"]
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (a name) of ) {' '.join(fields)}")
    monkeypatch.setattr(site, "PROC", tmp_path)
    assert Site("", tmp_path, port=1).below(gunicorn) == [30_001, 300]


def test_it_is_read_as_linux_writes_it(tmp_path: Path) -> None:
    started = [subprocess.Popen(["sleep", "60"]) for _ in range(2)]
    own = subprocess.Popen.__new__(subprocess.Popen)
    own.pid, own.returncode = os.getpid(), 0
    found = Site("", tmp_path, port=1).below(own)
    for process in started:
        process.kill()
        process.wait()
    assert [pid for pid in found if pid in {p.pid for p in started}] == [p.pid for p in started]
