"""The Celery app. Only workers import it, and whoever sends them a message: `celery -A config worker --concurrency 1`.

A message is a hint and says "look at this row"; what is to be done, and by whom, the row says (lib/jobs).
So a message that is lost, late or there twice changes nothing, and lib/jobs/tasks.py sends again what was lost.
"""

import hashlib
import logging
import logging.config
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import setup_logging
from kombu.entity import Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# It would load every page, and throw away what the checks say
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

from django.conf import settings

from config.env import EnvError

try:
    settings.DATABASES  # noqa: B018 (reads them all)
except EnvError as error:
    sys.exit(f"Wrong setting in the environment: {error}")

REDISTRIBUTE_AFTER_S = 3600  # Redis alone: a message that a killed worker held comes back


def site_name(database: Mapping[str, Any]) -> str:
    """The prefix of its queues, one for each database: two sites on one broker would else share messages."""
    # The name of the engine before it was ours: queues keep theirs
    engine = str(database["ENGINE"]).replace("lib.fast.postgres", "django.db.backends.postgresql")
    address = [engine, *(str(database.get(key, "")) for key in ("HOST", "PORT", "NAME"))]
    return f"brainbench-{hashlib.sha256(repr(address).encode()).hexdigest()[:12]}"


def transport_options(broker_url: str, queue: str, folder: Path) -> dict[str, Any]:
    """The broker's options beside its address; `folder` is for messages that are files."""
    if broker_url.startswith("filesystem:"):
        places = {
            "data_folder_in": folder / "messages",
            "data_folder_out": folder / "messages",
            "processed_folder": folder / "processed",
            "control_folder": folder / "control",
        }
        for place in places.values():
            place.mkdir(parents=True, exist_ok=True)
        # Kept for a moment only, but in a folder of ours and not in /tmp
        return {name: str(place) for name, place in places.items()} | {"polling_interval": 0.5}
    if broker_url.startswith(("redis:", "rediss:", "unix:", "redis+socket:")):
        return {
            "visibility_timeout": REDISTRIBUTE_AFTER_S,
            "global_keyprefix": f"{queue}:",
            "socket_connect_timeout": 5,
        }
    return {}


def pool(broker_url: str) -> str:
    """Where messages are files, the worker is one process: of two, the death of one could leave the other waiting for ever.

    (They would share locks, which one that is killed never lets go of; with Redis or AMQP they share none.)
    """
    return "solo" if broker_url.startswith("filesystem:") else "prefork"


QUEUE = site_name(settings.DATABASES["default"])
app = Celery("brainbench")
app.conf.update(
    broker_url=settings.CELERY_BROKER_URL,
    broker_transport_options=transport_options(
        settings.CELERY_BROKER_URL, QUEUE, settings.VAR_DIR / "celery"
    ),
    broker_connection_retry_on_startup=True,
    imports=("lib.jobs.tasks",),
    task_default_queue=QUEUE,
    # What a worker of this machine takes, by the names that lib/jobs/queue.py sends to
    task_queues=[
        Queue(f"{QUEUE}-{label}")  # type: ignore[no-untyped-call]
        for label in settings.JOB_APPS
    ],
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    # A message is done with when its work is: a killed worker's goes to another
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_pool=pool(settings.CELERY_BROKER_URL),
    # A reader waits for the page: without a broker it says so at once, and the run waits in the database
    task_publish_retry=False,
    broker_connection_timeout=5,
    worker_enable_remote_control=False,
    worker_lost_wait=1.0,  # seconds; then a killed process' message goes to another
    timezone="UTC",
)


@setup_logging.connect  # type: ignore[untyped-decorator]
def write_the_sites_lines(loglevel: int, **_: object) -> None:
    """Celery would else set up a log of its own: plain lines in local time, and what a database says of rows in them."""
    logging.config.dictConfig(settings.LOGGING)
    logging.getLogger("celery").setLevel(loglevel)
