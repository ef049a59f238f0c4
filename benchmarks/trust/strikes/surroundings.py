"""Disk, clock, storage, Redis, weights and exports: what the site leans on is full, wrong, gone or half there.

Long: one strike after the other, each read by itself.
"""

import asyncio
import csv
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from urllib.parse import urlencode

import httpx2
import psycopg
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import F
from django.utils import timezone

from benchmarks.databases import using
from benchmarks.experiment.crowd import TRIALS_EACH, add_people
from benchmarks.trust import jobs
from benchmarks.trust.audit import DISK_FULL, REDIS_GONE, STORAGE_GONE
from benchmarks.trust.broker import Broker
from benchmarks.trust.outcome import Figure, Outcome, Scale
from benchmarks.trust.world import World, share_static_files
from benchmarks.web.people import HTML, Ledger, Person, StrayedError, hidden_fields, noted
from benchmarks.web.site import CELERY, ENTRY, SLUG, Site, wait_until
from config.env import parse_database_url
from experiment.domain.exclusion import TOO_FAST
from experiment.domain.roles import Scope
from experiment.domain.trial_query import TrialQuery
from experiment.models import Judgment, Participant, Study
from experiment.services.export.files import Manifest, export_to_file, manifest_path
from experiment.services.page_by_page import page_by_page
from experiment.services.rights import create_token
from lib.jobs.leases import reopen
from lib.jobs.models import LivingWorker
from scoring.demo_lm import MODEL_FOLDER
from scoring.models import ItemScore, ScoringRun
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


def missing_disk() -> str:
    """Why no disk can be mounted here, which only root may do, and not in every container."""
    with TemporaryDirectory(prefix="trust-") as folder:
        try:
            with _mounted(Path(folder) / "small", 1):
                return ""
        except subprocess.CalledProcessError:
            return "it mounts a disk, for which this account has no right"


CLOCK = Path(__file__).parents[1] / "clock"
DAY_S = 24 * 3600
# In Europe, where an hour is left out then, or comes twice; the site itself counts in UTC
SUMMER, WINTER = datetime(2027, 3, 28, 1, tzinfo=UTC), datetime(2027, 10, 31, 1, tzinfo=UTC)
AROUND = timedelta(minutes=10)
THINK_S = 0.3  # so that somebody is on the way at the moment itself
HALF_A_DAY = timedelta(hours=12)


def clock_jumps(world: World, scale: Scale) -> Outcome:
    """The machine's clock a day ahead at a start, and back at the next: both within the hours in which people may return."""
    return _restarted_at(world, scale, (0, DAY_S, 0) if scale.is_full else (DAY_S, 0))


def clocks_disagree(world: World, scale: Scale) -> Outcome:
    """One web process lives a day ahead of the other; each request comes to one or the other."""
    shifts = f"0,{DAY_S}"
    changes = _clock(shifts) | {"KEEP_ALIVE": "0"}
    with world.site(**changes) as site, world.people(scale.of(6, 24), site.port) as ledger:
        ledger.wait_for(1)
    return world.settle(ledger, 1, problems=_wrong_times(world))


def summer_time(world: World, scale: Scale) -> Outcome:
    """People come from shortly before the change of a clock until after it; somebody must have answered on both sides of it."""
    moments = (SUMMER, WINTER) if scale.is_full else (WINTER,)
    before_s, ledger = scale.of(15, 20), Ledger()
    problems: list[str] = []
    for moment in moments:
        shift_s = (moment - datetime.now(UTC)).total_seconds() - before_s
        with (
            world.site(**_clock(shift_s)) as site,
            world.people(
                scale.of(6, 16),
                site.port,
                think_s=THINK_S,
                spread_s=1.5 * before_s,
                ledger=ledger,
            ),
        ):
            pass
        if not _was_lived_through(world, moment):
            problems.append(f"nobody answered both before and after {moment:%Y-%m-%d %H:%M} UTC")
    return world.settle(ledger, len(moments), problems=(*problems, *_wrong_times(world)))


def _was_lived_through(world: World, moment: datetime) -> bool:
    with using(world.url):
        answered = "trials__judgment__received_at__range"
        before = Participant.objects.filter(**{answered: (moment - AROUND, moment)})
        return before.filter(**{answered: (moment, moment + AROUND)}).exists()


def _restarted_at(world: World, scale: Scale, shifts_s: Iterable[float]) -> Outcome:
    """Each start has its clock shifted by so many seconds; people take part through all of them."""
    first, *others = shifts_s
    with world.site(**_clock(first)) as site, world.people(scale.of(6, 16), site.port) as ledger:
        for shift in others:
            ledger.wait_for(8)
            site.stop()
            site.changes |= _clock(shift)
            site.start()
        ledger.wait_for(1)
    return world.settle(ledger, 1 + len(others), problems=_wrong_times(world))


def _clock(shifts_s: float | str) -> dict[str, str]:
    return {"PYTHONPATH": str(CLOCK), "CLOCK_SHIFTS_S": str(shifts_s)}


def _wrong_times(world: World) -> tuple[str, ...]:
    """Times that a clock must not cause: people who are too fast, or negative durations."""
    with using(world.url):
        back = Judgment.objects.filter(received_at__lt=F("trial__shown_at"))
        timed = sum(j.elapsed_ms is not None for j in back.select_related("trial"))
        fast = back.filter(rt_ms=None, excluded_by__contains=TOO_FAST.code).count()
        pages = page_by_page(Study.objects.get(slug=SLUG), Participant.Kind.REAL, timezone.now())
        was_wrong = Judgment.objects.filter(received_at__gt=timezone.now() + HALF_A_DAY).exists()
    rows = pages.rows if pages else ()
    negative = sum(row.time is not None and row.time.q1_s < 0 for row in rows)
    found = (
        (timed, "answers that came before their trial have a duration"),
        (fast, "answers are too fast for a clock that was set back"),
        (negative, "pages took less than no time"),
        (not was_wrong, "site, whose clock was never wrong"),
    )
    return tuple(f"{int(n)} {what}" for n, what in found if n)


EARLIER = "yesterday's export"
SETS = ("all", "analysis")


def export_during_writes(world: World, scale: Scale) -> Outcome:
    """One export after the other, of all trials and of those that count, while people answer."""
    n_exports, n_people = scale.of(short=2, full=12), scale.of(6, 16)
    problems: list[str] = []
    with world.site() as site, world.people(n_people, site.port) as ledger, using(world.url):
        study = Study.objects.get(slug=SLUG)
        n_tested = study.n_trials - study.catch_items
        for n in range(n_exports):
            ledger.wait_for(3)
            before = len(ledger.acknowledged)
            path, chosen = world.folder / f"{n}.csv", SETS[n % len(SETS)]
            manifest = export_to_file(Study.objects.get(slug=SLUG), TrialQuery(chosen), path)
            # Of each person an answer may be stored of which they were not told yet
            after = len(ledger.acknowledged) + n_people
            problems += _of_one_moment(path, manifest, n_tested)
            if chosen == "all" and not before <= manifest.rows <= after:
                problems.append(f"{manifest.rows} rows, with {before} to {after} answers given")
    return world.settle(ledger, n_exports, problems=tuple(problems))


def _of_one_moment(path: Path, manifest: Manifest, n_tested: int) -> list[str]:
    """Each participant's trials without a gap, and in an analysis set all but the catch trials; as the manifest counts them."""
    positions: dict[str, list[int]] = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            positions[row["participant"]].append(int(row["position"]))
    found = [
        f"a participant's trials in the export are {rows}"
        for rows in positions.values()
        if (
            rows != sorted(set(rows)) or len(rows) != n_tested
            if manifest.set == "analysis"
            else rows != list(range(1, len(rows) + 1))
        )
    ]
    counted = sum(map(len, positions.values())), len(positions)
    if counted != (manifest.rows, manifest.participants):
        found.append(f"the manifest does not count {counted}")
    if hashlib.sha256(path.read_bytes()).hexdigest() != manifest.sha256:
        found.append("the file's bytes are not those that its manifest names")
    return found


def export_killed(world: World, scale: Scale) -> Outcome:
    """The command, and then the worker, amid a large export."""
    kills, n_people = scale.of(short=1, full=3), scale.of(short=500, full=2_000)
    rows = n_people * TRIALS_EACH
    site = Site(world.url, world.folder)
    problems: list[str] = []
    with using(world.url):
        add_people(Study.objects.get(slug=SLUG), n_people)
        target = world.folder / "export.csv"
        target.write_text(EARLIER)
        for _ in range(kills):
            problems += _kill_command(site, target)
        whole = export_to_file(Study.objects.get(slug=SLUG), TrialQuery(), target)
        if whole.rows != rows or not manifest_path(target).exists():
            problems.append(f"the next export has {whole.rows} rows of {rows}")
        job = jobs.ask_for_export(SLUG)
        try:
            for _ in range(kills):
                site.start_worker()
                jobs.wait_for(job, done=1)
                site.stop(signal.SIGKILL)
            site.start_worker()
            jobs.wait_for(job, status="finished")
        finally:
            site.stop()
        problems += jobs.export_problems(job, rows, site.folder)
        if job.manifest["sha256"] != whole.sha256:
            problems.append("the worker's export differs from the command's")
    return Outcome(2 * kills, stored=job.rows, lost=rows - job.rows, problems=tuple(problems))


def _kill_command(site: Site, target: Path) -> list[str]:
    """As soon as there is something in the file that is to become the export."""
    asked = ("export_trials", SLUG, "--set", "all", "--output", str(target))
    command = [sys.executable, "manage.py", *asked]
    with site.log.open("ab") as log:
        process = subprocess.Popen(
            command, cwd=settings.BASE_DIR, env=site.environment, stdout=log, stderr=log
        )

    def drafts() -> list[Path]:
        found = target.parent.glob(f".{target.name}.*")
        return [path for path in found if path.stat().st_size]

    wait_until(lambda: drafts() or process.poll() is not None)
    process.kill()
    was_killed = process.wait() == -signal.SIGKILL
    for draft in drafts():
        draft.unlink()
    if not was_killed:
        return [f"the export ended before it could be killed: {site.log.read_text()[-200:]}"]
    is_untouched = target.read_text() == EARLIER
    return [] if is_untouched else ["half an export stands in the place of an earlier one"]


ANSWERS_WITHIN_S = 10.0
CODE = re.compile(r'id="withdrawal-code"[^>]*>([^<]+)<')
ASKED = {"model": "embedded", "limit": 3}


def storage_gone(world: World, scale: Scale) -> Outcome:
    """Nobody who answers needs it, nor does a process that begins; who withdraws is told to wait, and is withdrawn once it is back, as are jobs done."""
    files = world.folder / "files"
    files.mkdir()
    with world.site(FILES_URL=str(files)) as site, using(world.url):
        failed = None
        if scale.is_full:  # before people come: workers are nice, and would wait for them
            with _gone(files):
                failed = _ask_in_vain(site)
        with world.people(scale.of(4, 12), site.port) as ledger:
            leaver = Leaver(10_000, site.port, ledger)
            asyncio.run(noted(leaver.agree(), ledger))
            withdrawing = Thread(target=lambda: asyncio.run(noted(leaver.withdraw(), ledger)))
            with _gone(files):
                withdrawing.start()
                ledger.wait_for(5)
                wait_until(lambda: ledger.unavailable or not withdrawing.is_alive())
                for (
                    process
                ) in site.web_processes():  # those that take their places begin without it
                    os.kill(process, signal.SIGKILL)
                ledger.wait_for(1)
            withdrawing.join()
        if failed is not None:
            _ask_again(failed)
        n = Participant.objects.filter(stage=Participant.Stage.WITHDRAWN).count()
        stones = len(list((files / "withdrawals").rglob("*.json")))
    problems = (
        []
        if (n, stones) == (1, 1)
        else [f"1 withdrawal, but {n} rows and {stones} files record it"]
    )
    if not ledger.unavailable:
        problems.append("no page reported that the storage is unavailable")
    return world.settle(ledger, 1, problems=tuple(problems), explained=STORAGE_GONE)


class Leaver(Person):
    """Somebody who agrees, and withdraws by their own code at once."""

    code = ""

    async def agree(self) -> None:
        await self.open(ENTRY)
        self.code = CODE.findall(self.page.text)[0]
        await self.leave({"agree": "yes"})
        self.client.close()

    async def withdraw(self) -> None:
        path = f"{ENTRY}withdraw/"
        await self.open(path)
        form = hidden_fields(self.page.text) | {"code": self.code, "confirm": "1"}
        status, _, _ = await self._insist("POST", path, urlencode(form).encode(), HTML)
        self.client.close()
        if status != 200:
            raise StrayedError(f"a withdrawal answered {status}")


@contextmanager
def _gone(files: Path) -> Iterator[None]:
    """Something else stands in the folder's place: whoever looks for a file there gets an error, not nothing."""
    away = files.with_name("away")
    files.rename(away)
    files.touch()
    try:
        yield
    finally:
        files.unlink()
        away.rename(files)


def _ask_in_vain(site: Site) -> ScoringRun:
    site.start_worker()
    run, export = jobs.ask_for_scores(3), jobs.ask_for_export(SLUG)
    for job in (run, export):
        jobs.wait_for(job, status="failed")
        if not job.error:
            raise RuntimeError(f"{job.label} failed without saying why")
    return run


def _ask_again(run: ScoringRun) -> None:
    """The run goes on; the export is another one, since a withdrawal deletes what was asked for before."""
    reopen(run)
    for job in (run, jobs.ask_for_export(SLUG)):
        jobs.wait_for(job, status="finished")


def redis_gone(world: World, scale: Scale) -> Outcome:
    """Takes Redis away: people who ask for a run are answered at once; it waits in the database, and is done once Redis is back."""
    broker = Broker(world.folder)
    with ExitStack() as stack:
        stack.callback(broker.stop)
        broker.start()
        site = stack.enter_context(world.site(**broker.changes, OMP_NUM_THREADS="1"))
        stack.enter_context(using(world.url))
        user = User.objects.create_user("checker", is_superuser=True, is_staff=True)
        study = Study.objects.get(slug=SLUG)
        token = create_token(user, "check", [Scope.WRITE], study=study)
        site.start_worker(CELERY)
        wait_until(LivingWorker.objects.exists, jobs.FINISHED_WITHIN_S)
        ledger = stack.enter_context(world.people(scale.of(4, 12), site.port))
        broker.stop()
        ledger.wait_for(5)
        began = time.monotonic()
        answer = httpx2.post(
            f"http://127.0.0.1:{site.port}/api/v1/studies/{SLUG}/runs/start/",
            json=ASKED,
            headers={"Authorization": f"Bearer {token.secret}"},
            timeout=60,
        )
        answered_s = time.monotonic() - began
        problems = [] if answer.status_code == 202 else [f"asked for a run: {answer.status_code}"]
        broker.start()
        jobs.wait_for(ScoringRun.objects.get(), status="finished")
    waited = Figure("wait for a requested run", answered_s, "s", ANSWERS_WITHIN_S)
    found = world.settle(ledger, 1, problems=tuple(problems), explained=REDIS_GONE)
    return replace(found, figures=(waited,))


WEIGHTS = "model.safetensors"
KEPT = (0.0, 0.001, 0.5, 0.999)  # of the file: within its header, and within its numbers


def half_written(world: World, _: Scale) -> Outcome:
    """Each time the command fails with one sentence; with the whole file it scores."""
    site, folder = Site(world.url, world.folder), world.folder / "model"
    shutil.copytree(MODEL_FOLDER, folder)
    whole = (MODEL_FOLDER / WEIGHTS).read_bytes()
    command = f"score --study {SLUG} --model hf --limit 3 --model_args"
    asked = (*command.split(), f"pretrained={folder}")
    problems = []
    for part in KEPT:
        n_bytes = int(len(whole) * part)
        (folder / WEIGHTS).write_bytes(whole[:n_bytes])
        done = site.run(*asked)
        said = done.stderr.strip().splitlines()[-1:]
        if done.returncode == 0 or "Traceback" in done.stderr or str(folder) not in str(said):
            problems.append(f"{n_bytes} bytes of {len(whole)}: {done.returncode}, {said}")
    with using(world.url):
        if n := ItemScore.objects.count() + ScoringRun.objects.filter(status="finished").count():
            problems.append(f"{n} rows remain from unreadable weights")
        (folder / WEIGHTS).write_bytes(whole)
        if (done := site.run(*asked, "--resume")).returncode:
            problems.append(f"with whole weights: {done.stderr[-300:]}")
        run = ScoringRun.objects.last()
        n_done, total = (run.done, run.total) if run else (0, 0)
    return Outcome(len(KEPT), total, n_done, lost=total - n_done, problems=tuple(problems))
