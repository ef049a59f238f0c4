"""Exports while people answer, and exports whose process is killed: a file is of one moment, and whole or not there."""

import csv
import hashlib
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from django.conf import settings

from benchmarks.experiment import crowd
from benchmarks.trust import jobs
from benchmarks.trust.check import POSTGRESQL_ALONE, SQLITE_ALONE, Check, Part, Scale
from benchmarks.trust.outcome import Outcome
from benchmarks.trust.site import Site
from benchmarks.trust.waiting import wait_until
from benchmarks.trust.world import World
from benchmarks.web.database import using
from benchmarks.web.site import SLUG
from experiment.domain.trial_query import TrialQuery
from experiment.models import Study
from experiment.services.export.files import Manifest, export_to_file, manifest_path

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
        found.append(f"the manifest counts other rows and participants than {counted}")
    if hashlib.sha256(path.read_bytes()).hexdigest() != manifest.sha256:
        found.append("the file's bytes are not those that its manifest names")
    return found


def export_killed(world: World, scale: Scale) -> Outcome:
    """The command, and then the worker, amid a large export."""
    kills, n_people = scale.of(short=1, full=3), scale.of(short=500, full=2_000)
    rows = n_people * crowd.TRIALS_EACH
    site = Site(world.url, world.folder)
    problems: list[str] = []
    with using(world.url):
        crowd.add_people(crowd.make_study(60), n_people)
        target = world.folder / "export.csv"
        target.write_text(EARLIER)
        for _ in range(kills):
            problems += _kill_command(site, target)
        whole = export_to_file(Study.objects.get(slug=crowd.SLUG), TrialQuery(), target)
        if whole.rows != rows or not manifest_path(target).exists():
            problems.append(f"the next export has {whole.rows} rows of {rows}")
        job = jobs.ask_for_export(crowd.SLUG)
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
            problems.append("the worker's export has other bytes than the command's")
    return Outcome(2 * kills, stored=job.rows, lost=rows - job.rows, problems=tuple(problems))


def _kill_command(site: Site, target: Path) -> list[str]:
    """As soon as there is something in the file that is to become the export."""
    asked = ("export_trials", crowd.SLUG, "--set", "all", "--output", str(target))
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


_S = Part.SURROUNDINGS
CHECKS = (
    Check(
        "export-during-writes",
        "Export while people answer",
        _S,
        export_during_writes,
        short_on=POSTGRESQL_ALONE,
    ),
    Check(
        "export-killed",
        "Export killed, of the command and of a worker",
        _S,
        export_killed,
        short_on=SQLITE_ALONE,
    ),
)
