"""What the commands share that have a model write."""

from collections.abc import Callable
from io import StringIO

import pytest

from lib.commands import INTERRUPTED, StoppedError
from scoring.management.writing import WritingCommand
from scoring.models import AnsweringRun


def test_who_stops_it_is_told_how_it_goes_on() -> None:
    def stop(run: AnsweringRun, on_progress: Callable[[AnsweringRun], None]) -> AnsweringRun:
        on_progress(run)
        raise KeyboardInterrupt

    command = WritingCommand(StringIO(), StringIO())
    with pytest.raises(StoppedError, match="with --resume goes on") as stopped:
        command.work_off(AnsweringRun(), stop, ("answers", "questions"), {"json": True})
    assert stopped.value.returncode == INTERRUPTED
