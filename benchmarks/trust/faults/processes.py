"""Web processes end or stand still in the midst of work."""

import os
import signal
import time
from collections.abc import Callable

from benchmarks.trust.check import POSTGRESQL_ALONE, SQLITE_ALONE, Check, Part, Scale
from benchmarks.trust.outcome import Figure, Outcome
from benchmarks.trust.site import Site
from benchmarks.trust.waiting import wait_until
from benchmarks.trust.world import World

PAUSE_S = 10
ENDED_AFTER_S = PAUSE_S + 2


def web_killed(world: World, scale: Scale) -> Outcome:
    """All processes at once, as when the power goes, and started again."""

    def kill(site: Site) -> None:
        site.stop(signal.SIGKILL)
        site.start()

    return _struck(world, scale, scale.of(short=2, full=6), kill)


def web_terminated(world: World, scale: Scale) -> Outcome:
    """Asked to end, as systemd does it, and started again."""

    def restart(site: Site) -> None:
        site.stop()
        site.start()

    return _struck(world, scale, scale.of(short=1, full=4), restart)


def web_reloaded(world: World, scale: Scale) -> Outcome:
    """SIGHUP, as after a change of settings: new processes take the place of the old ones, and the door stays open."""

    def reload(site: Site) -> None:
        assert site.web is not None
        before = site.web_processes()
        site.web.send_signal(signal.SIGHUP)
        wait_until(lambda: not set(before) & set(site.web_processes()))

    return _struck(world, scale, scale.of(short=1, full=4), reload, most_unanswered=0)


def web_process_killed(world: World, scale: Scale) -> Outcome:
    """One of the processes that answer; gunicorn starts another."""

    def kill(site: Site) -> None:
        os.kill(site.web_processes()[0], signal.SIGKILL)

    return _struck(world, scale, scale.of(short=3, full=12), kill)


def web_paused(world: World, scale: Scale) -> Outcome:
    """All processes that answer stand still: for a while, and until gunicorn takes them for dead."""
    timeout_s = scale.of(short=3, full=ENDED_AFTER_S)

    def pause(site: Site) -> None:
        paused = site.web_processes()
        for process in paused:
            os.kill(process, signal.SIGSTOP)
        if scale.is_full and not is_paused:  # the first time they go on
            is_paused.append(True)
            time.sleep(PAUSE_S)
            for process in paused:
                os.kill(process, signal.SIGCONT)
        else:
            wait_until(lambda: not set(paused) & set(site.web_processes()))

    is_paused: list[bool] = []
    return _struck(
        world,
        scale,
        scale.of(short=1, full=2),
        pause,
        GUNICORN_CMD_ARGS=f"--timeout {timeout_s}",
    )


def _struck(
    world: World,
    scale: Scale,
    strikes: int,
    strike: Callable[[Site], None],
    *,
    most_unanswered: int | None = None,
    **changes: str,
) -> Outcome:
    """So many strikes, each after some more answers; it is over once an answer is acknowledged again."""
    recovery_s = 0.0
    with world.site(**changes) as site, world.people(scale.of(6, 16), site.port) as ledger:
        for _ in range(strikes):
            ledger.wait_for(5)
            began = time.monotonic()
            strike(site)
            ledger.wait_for(1)
            recovery_s = max(recovery_s, time.monotonic() - began)
    unanswered = Figure(
        "requests that were sent whole and not answered",
        ledger.record.unanswered,
        "",
        most_unanswered,
    )
    return world.settle(ledger, strikes, recovery_s=recovery_s, figures=(unanswered,))


_P = Part.PROCESSES
CHECKS = (
    Check(
        "web-killed",
        "Web server killed and started again",
        _P,
        web_killed,
        short_on=POSTGRESQL_ALONE,
    ),
    Check(
        "web-terminated",
        "Web server asked to end and started again",
        _P,
        web_terminated,
        short_on=SQLITE_ALONE,
    ),
    Check("web-reloaded", "Web server reloaded", _P, web_reloaded, short_on=POSTGRESQL_ALONE),
    Check(
        "process-killed", "One web process killed", _P, web_process_killed, short_on=SQLITE_ALONE
    ),
    Check(
        "web-paused",
        f"Web processes standing still; here gunicorn ends them after {ENDED_AFTER_S} s, as shipped after 60",
        _P,
        web_paused,
        short_on=SQLITE_ALONE,
    ),
)
