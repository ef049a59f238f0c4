"""A process beside this one for other people's programs, which answers questions one at a time and is killed when it takes too long.

No one operation of Python's can be ended from within: `9 ** (9 ** 9)` is one. So it runs elsewhere, and this process stays free.
"""

import atexit
import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

START_S = 120  # on a machine that has other things to do


class Beside:
    """Started with the first question, and kept for the next ones; its script reads and writes lines of JSON, the first when it is ready."""

    def __init__(self, script: Path) -> None:
        self._script = script
        self._forget()
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self._end)

    def _forget(self) -> None:
        """Also after a fork: it is the other process's, and so may be the lock."""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Its answer.

        Raises:
            TimeoutError: there was none in time.
            ChildProcessError: it ended itself.
        """
        line = json.dumps(question).encode() + b"\n"
        with self._lock:
            try:
                process = self._living()
                assert process.stdin is not None
                process.stdin.write(line)
                process.stdin.flush()
                answer: dict[str, Any] = json.loads(_line(process, seconds))
            except BaseException as error:  # what is half read belongs to nobody
                self._end()
                if isinstance(error, BrokenPipeError):
                    raise ChildProcessError("it ended") from error
                raise
        return answer

    def _living(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            # -P: what lies beside the script is no library's
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(self._script)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            _line(self._process, START_S)
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except BrokenPipeError:  # of a question that it did not read
                pass


def _line(process: subprocess.Popen[bytes], seconds: float) -> bytes:
    assert process.stdout is not None
    until, parts = time.monotonic() + seconds, bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not parts.endswith(b"\n"):
            if not selector.select(max(0.0, until - time.monotonic())):
                raise TimeoutError(f"it took longer than {seconds:g} s")
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                raise ChildProcessError("it ended")
            parts += part
    return bytes(parts)
