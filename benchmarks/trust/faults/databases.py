"""The database restarts, or its file is left as it was within a commit."""

import signal
import time
from pathlib import Path

from benchmarks.trust.check import Check, Database, Part, Scale
from benchmarks.trust.outcome import Outcome
from benchmarks.trust.world import World
from config.env import parse_database_url

NEVER_WRITTEN_S = 30


def database_restarted(world: World, scale: Scale) -> Outcome:
    """As it is for an upgrade, and as in a crash, from which it recovers; the site's own processes stay."""
    assert world.server is not None
    modes = ("fast", "immediate") * scale.of(short=1, full=2)
    recovery_s = 0.0
    with world.site() as site, world.people(scale.of(6, 16), site.port) as ledger:
        for mode in modes:
            ledger.wait_for(8)
            world.server.stop(mode)
            began = time.monotonic()
            world.server.start()
            ledger.wait_for(1)
            recovery_s = max(recovery_s, time.monotonic() - began)
    return world.settle(ledger, len(modes), recovery_s=recovery_s)


def killed_within_commit(world: World, scale: Scale) -> Outcome:
    """All processes, at the moment when the write-ahead log grows; it is left behind, and read at the start."""
    kills = scale.of(short=2, full=6)
    log = Path(f"{parse_database_url(world.url)['NAME']}-wal")
    problems: list[str] = []
    recovery_s = 0.0
    with world.site() as site, world.people(scale.of(6, 16), site.port) as ledger:
        for _ in range(kills):
            ledger.wait_for(5)
            _wait_for_write(log)
            site.stop(signal.SIGKILL)
            if not log.exists() or not log.stat().st_size:
                problems.append("no write-ahead log was left behind")
            began = time.monotonic()
            site.start()
            ledger.wait_for(1)
            recovery_s = max(recovery_s, time.monotonic() - began)
    return world.settle(ledger, kills, recovery_s=recovery_s, problems=tuple(problems))


def _wait_for_write(log: Path) -> None:
    """Without a pause: a commit takes a few milliseconds."""
    before, until = log.stat().st_mtime_ns, time.monotonic() + NEVER_WRITTEN_S
    while log.stat().st_mtime_ns == before:
        if time.monotonic() > until:
            raise TimeoutError("nobody wrote anything")


CHECKS = (
    Check(
        "database-restarted",
        "Database restarted, and crashed",
        Part.PROCESSES,
        database_restarted,
        (Database.POSTGRESQL,),
    ),
    Check(
        "killed-within-commit",
        "Killed within a commit",
        Part.PROCESSES,
        killed_within_commit,
        (Database.SQLITE,),
    ),
)
