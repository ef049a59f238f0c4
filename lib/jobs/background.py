"""Where no workers listen: a process of its own for a job that is too long for a page."""

import os
import subprocess
import sys
import threading

from django.conf import settings

from lib.jobs import leases
from lib.jobs.models import Job


def start(job: Job) -> None:
    """Have a new process work on an open job; none is started while one is at such a job, or on its way to it."""
    if not leases.call(job):
        return
    # Of what a page may not wait for, the job may
    environment = {name: text for name, text in os.environ.items() if name != "SERVES_PAGES"}
    process = subprocess.Popen(
        [sys.executable, "-m", "lib.jobs.process", job._meta.label_lower, str(job.pk)],
        cwd=settings.BASE_DIR,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # it outlives a web process that is restarted
    )
    # Else it would stay behind as a zombie
    threading.Thread(target=process.wait, name=f"process of {job.label}", daemon=True).start()
