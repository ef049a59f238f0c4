"""How gunicorn serves the site: `gunicorn -c config/gunicorn.py config.wsgi`; docs/operations.md.

On a reload (SIGHUP) this file is read again, and new workers load the code that is on disk then.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any


def _forget_code() -> None:
    """Forgets our modules: those that this process has loaded may be older than the files, and workers would inherit them."""
    for name in [name for name in sys.modules if name.partition(".")[0] in {"config", "lib"}]:
        del sys.modules[name]


if __name__ == "__config__":  # as gunicorn calls it
    _forget_code()

from config.env import Env, EnvError  # noqa: E402
from config.files import PRIVATE_UMASK  # noqa: E402
from config.listening import listening_address  # noqa: E402
from config.logs import logging_config  # noqa: E402

METRICS_DIR = "PROMETHEUS_MULTIPROC_DIR"  # prometheus_client's name; its processes add up there
GRACE_S = 30  # beyond what one statement may take

# The proxy's user opens a unix: socket; gunicorn's own setting `umask` is for that alone
os.umask(PRIVATE_UMASK)
worker_class = "gthread"
timeout = 60  # seconds without a sign of life from a worker
accesslog = None  # its lines would hold participants' external ids
logger_class = "lib.monitoring.gunicorn_log.Log"
control_socket_disable = True
# Headers such as SCRIPT_NAME would say where the site is: only this configuration does, so a request with one is refused
forwarder_headers = ""
header_map = "refuse"

try:
    _env = Env(os.environ | {"SERVES_PAGES": "1"})
    logconfig_dict = logging_config(_env)
    bind = listening_address(_env)
    workers = _env.integer("WORKERS", 2, minimum=1, maximum=256)
    threads = _env.threads()
    # Seconds that an idle connection stays open: longer than people read a page, and than browsers (Firefox 115) and nginx
    # (60) keep theirs, so that it is they who close it and no answer meets a closed door
    keepalive = _env.integer("KEEP_ALIVE", 120, minimum=0, maximum=3600)
    # No page waits longer for a lock or a statement: it says so and is asked again, while the others go on
    raw_env = ["SERVES_PAGES=1"]
    _, _statement_s = _env.database_limits()
    # What is under way when a worker is to end is answered, however long its statement takes
    graceful_timeout = _statement_s + GRACE_S
    _url = _env.url("BASE_URL", f"http://{bind}")
except EnvError as error:
    sys.exit(f"Wrong setting in the environment: {error}")


def on_starting(server: Any) -> None:
    """Load the settings once in a process of its own: what cannot work is said before anything listens, and not by each worker."""
    if server.cfg.bind != [bind]:
        where = ",".join(server.cfg.bind)
        sys.exit(
            f"gunicorn is configured to listen at {where}. Use BIND instead, which the site checks."
        )
    try:
        # Not by each process: those whose storage goes away later take answers all the same, and new ones beside them
        _env.check_storage("FILES_URL")
    except EnvError as error:
        sys.exit(f"Wrong setting in the environment: {error}")
    if subprocess.run(
        [sys.executable, "manage.py", "version"], stdout=subprocess.DEVNULL
    ).returncode:
        sys.exit(1)
    if _env.token("METRICS_TOKEN"):
        # In memory: a write to a mapped file on a full disk would end the process that serves pages
        places = [os.environ.get("RUNTIME_DIRECTORY", ""), "/dev/shm", tempfile.gettempdir()]  # noqa: S108
        place = next(place for place in places if os.access(place, os.W_OK))
        os.environ[METRICS_DIR] = tempfile.mkdtemp(prefix="brainbench-metrics-", dir=place)


def on_exit(server: object) -> None:
    """Leave nothing in memory."""
    if METRICS_DIR in os.environ:
        shutil.rmtree(os.environ[METRICS_DIR], ignore_errors=True)


def post_fork(server: object, worker: object) -> None:
    """Start with the code that is on disk."""
    _forget_code()


def when_ready(server: object) -> None:
    """Say where the site is, once it can be opened."""
    print(f"Serving {_url}/ (Ctrl-C stops it)", flush=True)  # noqa: T201
