"""A reader in a process of its own: what it makes of a file comes back, and whatever else it does stays there."""

import resource
import sys
import threading
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from lib import confined as module
from lib.confined import ConfinedError, confined, for_account
from tests.lib import readers

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")


def test_results_of_a_reader_keep_their_types() -> None:
    found = confined(readers.read, "Ä".encode(), {"a": "b"}, date(2026, 3, 1))
    here = readers.Read("Ä", frozenset({"a"}), date(2026, 3, 1), [])
    assert found == readers.Read(here.text, here.names, here.day, [here])


def test_half_a_character_comes_back_as_it_was() -> None:
    assert confined(readers.half, b"").text == "\ud800"


def test_a_library_that_fails_once_all_is_said_changes_nothing() -> None:
    assert confined(readers.leave_a_library_that_aborts, b"read") == "read"


def test_an_error_that_is_expected_is_raised_here_and_another_tells_nothing_of_the_file() -> None:
    with pytest.raises(readers.OddError) as refused:
        confined(readers.refuse, b"", refusals=[ValueError, readers.OddError])
    assert (refused.value.number, refused.value.what) == (3, "line")
    with pytest.raises(RuntimeError, match="OddError"):
        confined(readers.refuse, b"")
    with pytest.raises(RuntimeError) as failed:
        confined(readers.fail, b"secret")
    assert "KeyError in" in str(failed.value)
    assert "secret" not in str(failed.value)


@LINUX
@pytest.mark.parametrize("reader", [readers.take_memory, readers.answer_without_end, readers.die])
def test_a_reader_that_takes_too_much_memory_is_reported(reader: Callable[[bytes], Any]) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ConfinedError, match="needs more than 400 MB of memory"):
        confined(reader, b"")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024  # kB


def test_no_file_is_blamed_for_a_machine_short_of_memory() -> None:
    """Its system ends processes, whatever these may take."""
    with pytest.raises(ConfinedError, match="too little memory at the moment"):
        confined(readers.be_ended_by_the_system, b"")


@pytest.mark.parametrize("reader", [readers.compute_without_end, readers.sleep_without_end])
def test_a_reader_that_takes_too_long_is_ended(
    monkeypatch: pytest.MonkeyPatch, reader: Callable[[bytes], Any]
) -> None:
    monkeypatch.setattr(module, "CPU_S", 1)
    with pytest.raises(ConfinedError, match="takes more than 1 seconds"):
        confined(reader, b"")


def test_a_larger_file_may_take_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert confined(readers.take_memory, b"", size=20 * module.MB) == 600
    assert confined(readers.take_memory, bytes(20 * module.MB)) == 600


@LINUX
def test_it_inherits_no_secret_no_file_and_no_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SECRET_KEY", "x")
    with (tmp_path / "database").open("wb"):
        environment, files, modules = confined(readers.about, b"")
    assert "SECRET_KEY" not in environment
    assert not [name for name in files if "database" in name or "socket" in name]
    assert not {"django", "torch"} & {*modules}


def test_files_written_by_a_reader_are_limited(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="OSError"):
        confined(readers.write, b"", tmp_path / "large")
    assert not (tmp_path / "large").stat().st_size


def reading(account: str, gate: Path) -> threading.Thread:
    """Starts to read a file for an account, until there is a gate."""

    def read() -> None:
        with for_account(lambda: account):
            confined(readers.wait_for, b"", gate)

    thread = threading.Thread(target=read)
    thread.start()
    return thread


def until(holds: Callable[[], object]) -> None:
    while not holds():
        time.sleep(0.01)


def waiting() -> int:
    return len(module._queue._turns.waiting)


def test_one_file_is_read_after_the_other_and_few_wait(tmp_path: Path) -> None:
    """So that a few uploads never take the threads by which pages are served."""
    gates = [tmp_path / str(n) for n in range(1 + module.MOST_WAITING)]
    threads = [reading(gate.name, gate) for gate in gates]
    until(lambda: waiting() == module.MOST_WAITING and [*tmp_path.glob("*.begun")])
    with for_account(lambda: "another"), pytest.raises(ConfinedError, match="reading other files"):
        confined(readers.half, b"")
    begun = [*tmp_path.glob("*.begun")]
    assert len(begun) == 1
    for gate in gates:
        gate.touch()
    for thread in threads:
        thread.join()
    assert confined(readers.half, b"")


def test_an_account_has_one_place_and_the_next_account_is_next(tmp_path: Path) -> None:
    first, other, again = (tmp_path / name for name in ("first", "other", "again"))
    threads = [reading("one", first)]
    until(first.with_suffix(".begun").exists)
    with for_account(lambda: "one"), pytest.raises(ConfinedError, match="another file of yours"):
        confined(readers.half, b"")
    threads.append(reading("two", other))
    until(lambda: waiting() == 1)
    first.touch()
    threads[0].join()
    threads.append(reading("one", again))
    until(other.with_suffix(".begun").exists)
    until(lambda: waiting() == 1)
    assert not again.with_suffix(".begun").exists()
    for gate in (other, again):
        gate.touch()
    for thread in threads:
        thread.join()


def test_a_page_that_waits_too_long_is_told_and_a_command_waits_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WAIT_S", 0)
    read: list[object] = []
    command = threading.Thread(target=lambda: read.append(confined(readers.half, b"")))
    with module._queue.one():
        command.start()
        until(waiting)
        with for_account(lambda: "one"), pytest.raises(ConfinedError, match="reading other files"):
            confined(readers.half, b"")
    command.join()
    assert read
    with for_account(lambda: "one"):
        assert confined(readers.half, b"")
