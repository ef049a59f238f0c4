"""An import as background work: asked for on a page, done by a worker; all or nothing, and again changes nothing."""

from django.conf import settings

from experiment.imports.read.brainbench import read_published
from experiment.imports.report import problem_lines
from experiment.imports.store.published import ImportRefusedError, country_code
from lib.folders import inside
from lib.jobs.leases import Lease, run_job
from scoring.imports.read.published import FOLDER, read_results
from scoring.imports.report import make_full_report
from scoring.imports.store.published import import_all
from scoring.models import PublishedImport
from scoring.services.imports import STEPS


class RefusedError(Exception):
    """Nothing was imported; the message says why."""


def run(job: PublishedImport) -> PublishedImport:
    return run_job(job, _import, expected=(RefusedError,))


def _import(job: PublishedImport, lease: Lease) -> None:
    folder = inside(settings.IMPORTS_DIR, job.folder)
    if folder is None or not folder.is_dir():
        raise RefusedError(f"There is no folder {job.folder} in {settings.IMPORTS_DIR}.")
    data = read_published(folder, country_code, others=[FOLDER])
    _step(lease, 1)
    results = read_results(folder)
    _step(lease, 2)
    try:
        outcome = import_all(data, results, job.slug, job.texts)
    except ImportRefusedError as refusal:
        raise RefusedError("\n".join(problem_lines(refusal.problems))) from refusal
    report = make_full_report(data, results, job.slug, job.texts, outcome)
    lease.write(done=STEPS, lines=report.lines())


def _step(lease: Lease, done: int) -> None:
    lease.check()
    lease.write(done=done)
