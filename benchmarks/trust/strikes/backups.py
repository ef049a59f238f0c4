"""Backups made while people take part are brought back elsewhere; spoilt ones are refused."""

import json
import os
import resource
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.sql import SQL, Identifier

from benchmarks.databases import create_database, scratch_postgres, scratch_sqlite, using
from benchmarks.growth.filling import Crowd
from benchmarks.trust.audit import compare
from benchmarks.trust.outcome import Figure, Outcome, Scale
from benchmarks.trust.world import World
from benchmarks.web.people import Ledger
from benchmarks.web.site import SLUG, Site
from config.env import parse_database_url
from experiment.models import Study, Trial
from lib.backup.making import opened
from scripts.with_postgres import with_programs

BASE = 100  # participants made row by row, and then copied
TRIALS_IN_15_MIN = 1_000_000
MOVED_IN_3_MIN = 100_000


def backed_up(world: World, scale: Scale) -> Outcome:
    """One backup after another; each is restored, and must hold what was acknowledged before it began."""
    n, problems = scale.of(short=1, full=4), list[str]()
    with world.site(PATH=with_programs(os.environ["PATH"])) as site:
        taken: list[tuple[Path, Ledger]] = []
        with world.people(scale.of(6, 16), site.port) as ledger:
            for _ in range(n):
                ledger.wait_for(20)
                before = Ledger(dict(ledger.acknowledged))
                taken.append((make_backup(site, world), before))
        for folder, before in taken:
            with restored(world, site, folder) as url, opened(parse_database_url(url)):
                found = compare(before, all_finished=False)
                problems += found.problems
    return world.settle(ledger, n, problems=tuple(problems))


def make_backup(site: Site, world: World) -> Path:
    done = site.run("backup", "--output", str(world.folder / "backups"), "--json")
    if done.returncode:
        raise RuntimeError(f"no backup: {done.stdout}{done.stderr}")
    return Path(json.loads(done.stdout)["backup"])


def bring(site: Site, folder: Path, url: str) -> float:
    """Has the backup in that database; the seconds of a processor that this takes, without those of a database server."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = site.run("restore", str(folder), "--into", url)
    if done.returncode:
        raise RuntimeError(f"not restored: {done.stdout}{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def restored(world: World, site: Site, folder: Path) -> Iterator[str]:
    """The URL of another database with what is in the backup; it is removed afterwards."""
    with empty(world) as url:
        bring(site, folder, url)
        yield url


@contextmanager
def empty(world: World) -> Iterator[str]:
    """The URL of a database without tables."""
    name = f"empty_{time.monotonic_ns()}"
    if world.server is None:
        path = world.folder / f"{name}.sqlite3"
        yield f"sqlite:///{path}"
        path.unlink(missing_ok=True)
        return
    yield create_database(world.server.url, name)
    with psycopg.connect(world.server.url, autocommit=True) as admin:
        admin.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


SPOIL: dict[str, tuple[str, Callable[[Path], None]]] = {
    "a flipped bit of the database": ("database.*", flip),
    "a database cut short": ("database.*", cut),
    "no database": ("database.*", Path.unlink),
    "a flipped bit of the manifest": ("manifest.json", flip),
    "no manifest": ("manifest.json", Path.unlink),
}


def spoilt(world: World, scale: Scale) -> Outcome:
    """Every one must fail `restore --verify`, and the one that is whole must not."""
    problems = []
    site = Site(world.url, world.folder, {"PATH": with_programs(os.environ["PATH"])})
    whole = make_backup(site, world)
    if (done := site.run("restore", str(whole), "--verify")).returncode:
        problems.append(f"an intact backup is refused: {done.stderr.strip()[-300:]}")
    for what, (name, spoil) in SPOIL.items():
        copy = world.folder / "spoilt"
        shutil.copytree(whole, copy)
        spoil(next(copy.glob(name)))
        if not (done := site.run("restore", str(copy), "--verify")).returncode:
            problems.append(f"{what} is not noticed")
        elif "Traceback" in done.stderr:
            problems.append(f"{what} ends in a traceback")
        shutil.rmtree(copy)
    return Outcome(cases=len(SPOIL), problems=tuple(problems))


def restored_large(world: World, scale: Scale) -> Outcome:
    """As large a study as can be filled in a minute, and how long that makes a million trials."""
    return restore_trials(world, scale.of(short=2_000, full=100_000))


def restored_million(world: World, _: Scale) -> Outcome:
    return restore_trials(world, TRIALS_IN_15_MIN)


def restore_trials(world: World, n_trials: int) -> Outcome:
    with using(world.url):
        crowd = Crowd(Study.objects.get(slug=SLUG), BASE)
        per_person = Trial.objects.count() / BASE
        crowd.grow(BASE * max(1, round(n_trials / per_person / BASE)))
        n = Trial.objects.count()
    site = Site(world.url, world.folder, {"PATH": with_programs(os.environ["PATH"])})
    started = time.monotonic()
    folder = make_backup(site, world)
    backup_s = time.monotonic() - started
    started = time.monotonic()
    with restored(world, site, folder) as url:
        restore_s = time.monotonic() - started
        with opened(parse_database_url(url)):
            problems = () if Trial.objects.count() == n else ("trials are missing",)
    figures = [
        Figure("backup", backup_s, "s", of=f"{n:,} trials"),
        Figure("restore", restore_s, "s", min(900.0, 900 * n / TRIALS_IN_15_MIN + 60), of=f"{n:,} trials"),
    ]  # fmt: skip
    with scratch_postgres() if world.server is None else scratch_sqlite() as other:
        if other is not None:
            most_s = max(60.0, 180 * n / MOVED_IN_3_MIN)
            moved_s = bring(site, folder, other)
            figures.append(Figure("move to the other kind of database", moved_s, "CPU-s", most_s, of=f"{n:,} trials"))  # fmt: skip
    return Outcome(cases=n, problems=problems, figures=tuple(figures))
