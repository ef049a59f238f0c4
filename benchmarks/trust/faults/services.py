"""What the site leans on beside its database is gone for a while: the storage of its files, and Redis."""

import asyncio
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread
from urllib.parse import urlencode

import httpx2
from django.contrib.auth.models import User

from benchmarks.trust import jobs
from benchmarks.trust.broker import Broker, missing
from benchmarks.trust.check import SQLITE_ALONE, Check, Part, Scale
from benchmarks.trust.failures import REDIS_GONE, STORAGE_GONE
from benchmarks.trust.outcome import Figure, Outcome
from benchmarks.trust.people import HTML, Person, StrayedError, noted
from benchmarks.trust.site import CELERY, Site
from benchmarks.trust.waiting import wait_until
from benchmarks.trust.world import World
from benchmarks.web.client import Client
from benchmarks.web.database import using
from benchmarks.web.site import ENTRY, SLUG
from benchmarks.web.walks import hidden_fields
from experiment.domain.scopes import Scope
from experiment.models import Participant, Study
from experiment.services.rights import create_token
from lib.jobs.leases import reopen
from lib.jobs.models import LivingWorker
from scoring.models import ScoringRun

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
            client = Client("127.0.0.1", site.port, ledger.record, tries=1)
            leaver = Leaver(10_000, client, ledger, 0.0)
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
    problems = [] if (n, stones) == (1, 1) else [f"1 withdrew: {n} rows and {stones} files say so"]
    if not ledger.unavailable:
        problems.append("nobody was told that the storage is gone")
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
    """Who asks for a run is answered at once all the same; it waits in the database, and is done once Redis is back."""
    broker = Broker(world.folder)
    changes = {
        "JOB_EXECUTOR": "celery",
        "CELERY_BROKER_URL": broker.url,
        "OMP_NUM_THREADS": "1",
    }
    with ExitStack() as stack:
        stack.callback(broker.stop)
        broker.start()
        site = stack.enter_context(world.site(**changes))
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
    waited = Figure("answer to who asks for a run", answered_s, "s", ANSWERS_WITHIN_S)
    found = world.settle(ledger, 1, problems=tuple(problems), explained=REDIS_GONE)
    return replace(found, figures=(waited,))


_S = Part.SURROUNDINGS
CHECKS = (
    Check("storage-gone", "Storage of files gone", _S, storage_gone, short_on=SQLITE_ALONE),
    Check(
        "redis-gone",
        "Redis gone",
        _S,
        redis_gone,
        short_on=(),
        missing=missing,
    ),
)
