"""A Redis server that a fault may stop and start."""

import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.web.site import free_port, listens, wait_until

INSTALLED = Path(sys.executable).with_name("redis-server")


def _program() -> str | None:
    return shutil.which("redis-server") or shutil.which(INSTALLED)


def missing_redis() -> str:
    """Why no server can be started here."""
    return "" if _program() else "there is no redis-server on the PATH"


@dataclass
class Broker:
    """It keeps nothing: what it held is gone with it."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def changes(self) -> dict[str, str]:
        """The settings with which a site uses it."""
        url = f"redis://127.0.0.1:{self.port}/0"
        return {"JOB_EXECUTOR": "celery", "CELERY_BROKER_URL": url}

    def start(self) -> None:
        program = _program()
        assert program is not None
        where = ("--bind", "127.0.0.1", "--port", str(self.port), "--dir", self.folder)
        with (self.folder / "redis.log").open("ab") as log:
            self.process = subprocess.Popen(
                [program, *where, "--save", ""], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        wait_until(lambda: listens(self.port))

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
