"""All checks, in the order of docs/trust.md."""

from benchmarks.trust import backing
from benchmarks.trust.check import Check
from benchmarks.trust.faults import (
    clocks,
    databases,
    disk,
    exports,
    processes,
    requests,
    scoring_servers,
    services,
    weights,
    workers,
)
from benchmarks.trust.fuzz import checks as fuzz
from benchmarks.trust.load import classroom, growth, soak
from benchmarks.trust.world import World

CHECKS: tuple[Check[World], ...] = (
    *requests.CHECKS,
    *processes.CHECKS,
    *databases.CHECKS,
    *workers.CHECKS,
    *disk.CHECKS,
    *clocks.CHECKS,
    *exports.CHECKS,
    *scoring_servers.CHECKS,
    *services.CHECKS,
    *weights.CHECKS,
    *fuzz.CHECKS,
    *backing.CHECKS,
    *classroom.CHECKS,
    *soak.CHECKS,
    *growth.CHECKS,
)
