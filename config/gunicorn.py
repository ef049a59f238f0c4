"""How gunicorn serves the site: `gunicorn -c config/gunicorn.py config.wsgi`; docs/operations.md."""

import os

from config.env import Env

_env = Env(os.environ)
_port = _env.integer("PORT", 8000, minimum=1, maximum=65535)

bind = _env.text("BIND", f"127.0.0.1:{_port}")
worker_class = "gthread"
workers = _env.integer("WORKERS", 2, minimum=1)
threads = _env.integer("THREADS", 8, minimum=1)
timeout = 60  # seconds without a sign of life from a worker
# Seconds that an idle connection stays open: longer than people read a page, and than browsers (Firefox 115) and nginx (60)
# keep theirs, so that it is they who close it and no answer meets a closed door
keepalive = _env.integer("KEEP_ALIVE", 120, minimum=0)
accesslog = None  # its lines would hold participants' external ids
loglevel = "warning"
control_socket_disable = True
# No page waits longer for a lock or a statement: it says so and is asked again, while the others go on
raw_env = [
    f"{name}={_env.integer(name, seconds)}"
    for name, seconds in (("DATABASE_LOCK_SECONDS", 5), ("DATABASE_STATEMENT_SECONDS", 30))
]


def when_ready(server: object) -> None:
    """Say where the site is, once it can be opened."""
    print(f"Serving {_env.text('BASE_URL', f'http://{bind}')}/ (Ctrl-C stops it)", flush=True)  # noqa: T201
