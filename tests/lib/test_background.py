"""A process of its own for a job that a page asks for."""

import sys
import time
from pathlib import Path

import pytest

from lib.jobs import background
from tests.factories import make_study
from tests.scoring.lab.rows import ask

TIMEOUT_S = 60  # a busy machine; nothing waits for it to pass


@pytest.mark.django_db
def test_a_job_may_wait_for_what_a_page_may_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """gunicorn tells its processes that they serve pages, whose limits would end a long job."""
    said, program = tmp_path / "said", tmp_path / "program"
    program.write_text(f"#!/bin/sh\nenv > {said}.new && mv {said}.new {said}\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setenv("SERVES_PAGES", "1")
    monkeypatch.setenv("DATABASE_LOCK_SECONDS", "9")

    background.start(ask(make_study(human=1, machine=1)))

    end = time.monotonic() + TIMEOUT_S
    while not said.exists() and time.monotonic() < end:
        time.sleep(0.02)
    lines = said.read_text().splitlines()
    assert not [line for line in lines if line.startswith("SERVES_PAGES")]
    assert "DATABASE_LOCK_SECONDS=9" in lines  # what the operator says holds for all
