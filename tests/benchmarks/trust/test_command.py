"""What the command says of checks that it could not run here."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmarks.management.commands import trust
from benchmarks.trust.check import Check, Database, Part
from benchmarks.trust.outcome import Outcome
from benchmarks.trust.record import read
from benchmarks.trust.running import Result
from benchmarks.trust.world import World

HERE: Check[World] = Check("here", "Here", Part.PROCESSES, lambda world, scale: Outcome(1))
NOT_HERE = replace(HERE, name="elsewhere", missing=lambda: "there is no such program")


@pytest.fixture(autouse=True)
def two_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(checks: Any, *_: Any) -> Any:
        return (Result(check, Database.SQLITE, Outcome(1), 1.0) for check in checks)

    monkeypatch.setattr(trust, "CHECKS", (HERE, NOT_HERE))
    monkeypatch.setattr(trust, "run_checks", run)


def test_a_page_is_not_written_in_silence_without_what_was_skipped(tmp_path: Path) -> None:
    page = tmp_path / "trust.json"
    with pytest.raises(CommandError, match=r"^Not green: elsewhere \(skipped\)$"):
        call_command("trust", "--database", "sqlite", "--write", str(page))
    assert [row.check for row in read(page)] == ["here"]


def test_a_run_that_keeps_nothing_may_skip(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("trust", "--database", "sqlite")
    assert "Skipped: elsewhere: there is no such program." in capsys.readouterr().out
