"""Work in a process of its own, so that its memory, its faults and what it loads stay there.

`python -m lib.jobs.process KIND NUMBER` does one job, KIND is the model's label. With a worker's process id instead, it does
the day's chores and whatever is due, until nothing has come for a while or that worker is gone.
"""

import os
import signal
import sys
from types import FrameType

import django

NICENESS = 10  # who takes part comes first


def main(*arguments: str) -> None:
    os.nice(NICENESS)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    django.setup()
    if len(arguments) == 2:
        from django.apps import apps
        from django.utils.module_loading import import_string

        kind, pk = arguments
        job = apps.get_model(kind)._default_manager.filter(pk=pk).first()
        if job is not None:  # its row is still there
            import_string(job.runner)(job)
    else:
        from lib.jobs.worker import work_off

        work_off(int(arguments[0]))


def _end(number: int, _: FrameType | None) -> None:
    """Leave the job to others, by way of the exception; a second signal does not disturb that."""
    for known in (signal.SIGTERM, signal.SIGINT):
        signal.signal(known, signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    main(*sys.argv[1:])
