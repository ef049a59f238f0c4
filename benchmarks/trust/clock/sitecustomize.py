"""Python imports this as it starts where its folder is on PYTHONPATH: the clock of the process is wrong then, and goes on.

CLOCK_SHIFTS_S holds one number of seconds, or several, which the processes that gunicorn forks take in turn. Monotonic clocks,
by which processes measure how long something takes, stay as they are.
"""

import itertools
import os
from datetime import UTC, datetime, timedelta

import time_machine

SHIFTS_S = [float(shift) for shift in os.environ.get("CLOCK_SHIFTS_S", "0").split(",")]
next_shift = itertools.cycle(SHIFTS_S)


def set_clock(shift_s: float) -> None:
    time_machine.travel(datetime.now(UTC) + timedelta(seconds=shift_s), tick=True).start()


if SHIFTS_S[1:]:
    os.register_at_fork(
        after_in_parent=lambda: next(next_shift),
        after_in_child=lambda: set_clock(next(next_shift)),
    )
elif SHIFTS_S != [0]:
    set_clock(SHIFTS_S[0])
