"""CPU time of a server is that of all its processes, those that have ended included."""

import os
import subprocess
import sys

from benchmarks.web.processes import TICKS_PER_S, tree_cpu_s

BURN = "import time\nwhile time.process_time() < {s}: pass\n"
# A parent with one child that ended and one that still runs; it says when both have burnt what they should
PARENT = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {BURN.format(s=0.3)!r}], check=True)
child = {BURN.format(s=0.3)!r} + "print(flush=True)\\ninput()"
pipe = subprocess.PIPE
running = subprocess.Popen([sys.executable, "-c", child], stdin=pipe, stdout=pipe, text=True)
running.stdout.readline()
print(flush=True)
input()
running.communicate("\\n")
"""


def test_a_tree_counts_what_runs_what_ended_and_nothing_beside_it() -> None:
    command = [sys.executable, "-c", PARENT]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        burnt = tree_cpu_s([parent.pid])
        parent.communicate("\n")
    # Two processes burnt that much; the clock counts in ticks
    assert burnt >= 2 * 0.3 - 4 / TICKS_PER_S
    assert tree_cpu_s([parent.pid]) == 0
    assert tree_cpu_s([os.getpid()]) >= burnt  # its own once more: it has asked for all of them
