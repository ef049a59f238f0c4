"""The disk of the database and of the site's folder is filled to its last byte, and freed."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from benchmarks.trust.check import SQLITE_ALONE, Check, Part, Scale
from benchmarks.trust.failures import DISK_FULL
from benchmarks.trust.outcome import Outcome
from benchmarks.trust.people import Ledger
from benchmarks.trust.waiting import wait_until
from benchmarks.trust.world import World, share_static_files
from config.env import parse_database_url
from scripts.with_postgres import PrivateServer

MB = 1 << 20
ROOM_MB = 96  # beside what lies there from the start; PostgreSQL begins again with more of its log, 16 MB at a time
BLOCKS = (MB, 4096, 1)
FILLER = "filler"


def disk_full(world: World, scale: Scale) -> Outcome:
    """Full while people answer, and freed: what was not kept is asked for again, by itself."""
    fills = scale.of(short=1, full=3)
    held_s = scale.of(short=1, full=4)
    recovery_s = 0.0
    with ExitStack() as stack:
        world, disk = stack.enter_context(_on_small_disk(world))
        with world.site() as site, world.people(scale.of(6, 16), site.port) as ledger:
            for _ in range(fills):
                ledger.wait_for(5)
                _fill(disk)
                _wait_for_refusal(ledger)
                time.sleep(held_s)
                if world.server is not None and scale.is_full:
                    _use_up_log(world)
                (disk / FILLER).unlink()
                began = time.monotonic()
                if world.server is not None and scale.is_full:
                    world.server.start()
                ledger.wait_for(1)
                recovery_s = max(recovery_s, time.monotonic() - began)
        return world.settle(ledger, fills, recovery_s=recovery_s, explained=DISK_FULL)


def _wait_for_refusal(ledger: Ledger) -> None:
    before = ledger.unavailable
    wait_until(lambda: ledger.unavailable > before)


def _fill(disk: Path) -> None:
    """To the last byte; a page at a time at the end, as others write meanwhile."""
    with (disk / FILLER).open("wb", buffering=0) as filler:
        for n_bytes in BLOCKS:
            try:
                while filler.write(bytes(n_bytes)):
                    pass
            except OSError:
                continue


def _use_up_log(world: World) -> None:
    """Until PostgreSQL, which cannot write its log, ends itself; a person starts it once there is room."""
    assert world.server is not None
    while world.server.is_running:
        try:
            with psycopg.connect(world.url, autocommit=True, connect_timeout=2) as connection:
                connection.execute("SELECT pg_logical_emit_message(true, '', repeat('x', 1000000))")
        except psycopg.Error:
            time.sleep(0.1)


@contextmanager
def _on_small_disk(world: World) -> Iterator[tuple[World, Path]]:
    """The database and the site's folder moved to a disk of their own, with little room on it."""
    with ExitStack() as stack:
        if world.server is None:
            place = world.folder / "small"
            source = Path(parse_database_url(world.url)["NAME"])
            disk = stack.enter_context(_mounted(place, source.stat().st_size // MB + ROOM_MB))
            url = f"sqlite:///{shutil.copy(source, disk)}"
        else:
            disk, url = stack.enter_context(_moved(world.server)), world.url
        folder = disk / "site"
        folder.mkdir()
        share_static_files(world.folder, folder)
        yield replace(world, url=url, folder=folder), disk


@contextmanager
def _moved(server: PrivateServer) -> Iterator[Path]:
    """The server's files on a small disk, and back where they were at the end, as they were."""
    data, away = server.data, server.data.with_name("away")
    server.stop("fast")
    used = sum(file.stat().st_size for file in data.rglob("*") if file.is_file())
    try:
        with _mounted(data.with_name("small"), used // MB + ROOM_MB) as disk:
            # All of their owners and rights
            subprocess.run(["cp", "--archive", data, disk / data.name], check=True)
            data.rename(away)
            data.symlink_to(disk / data.name)
            try:
                server.start()
                yield disk
            finally:
                if server.is_running:
                    server.stop()
                data.unlink()
                away.rename(data)
    finally:
        server.start()


@contextmanager
def _mounted(place: Path, n_mb: int) -> Iterator[Path]:
    """A disk in memory: what is written there beyond its size meets the same error as on any other."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={n_mb}m", "small", str(place)]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
        place.rmdir()


def missing() -> str:
    """Why no disk can be mounted here, which only root may do, and not in every container."""
    with TemporaryDirectory(prefix="trust-") as folder:
        try:
            with _mounted(Path(folder) / "small", 1):
                return ""
        except subprocess.CalledProcessError:
            return "it mounts a disk, for which this account has no right"


CHECKS = (
    Check(
        "disk-full",
        "Disk full, and freed",
        Part.SURROUNDINGS,
        disk_full,
        missing=missing,
        short_on=SQLITE_ALONE,
        is_elsewhere=True,  # on the small disk, which is gone by then
    ),
)
