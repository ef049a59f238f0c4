"""An import as background work: asked for on a page, done by a worker; all or nothing, and again changes nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings

from experiment.imports.lines import problem_lines
from experiment.imports.read.brainbench import FOLDERS
from experiment.imports.store.published import ImportRefusedError
from lib.confined import ConfinedError
from lib.folders import inside
from lib.jobs.leases import Lease, run_job
from lib.zips import ZipRefusedError, unpack_sent
from scoring.imports.read.published import FOLDER
from scoring.imports.reading import everything_in
from scoring.imports.report import make_full_report
from scoring.imports.store.published import import_all
from scoring.models import PublishedImport
from scoring.services.imports import STEPS, forget_zip, opened_zip

# The published data have 300 files and 10 MB
MOST_UNPACKED = 1024 * 2**20  # bytes
MOST_FILES = 10_000


class RefusedError(Exception):
    """Nothing was imported; the message says why."""


def run(job: PublishedImport) -> PublishedImport:
    return run_job(job, _import, expected=(RefusedError,))


def _import(job: PublishedImport, lease: Lease) -> None:
    try:
        with _folder(job) as folder:
            found = everything_in(folder)
    except ConfinedError as error:
        raise RefusedError(str(error)) from error
    lease.check()
    lease.write(done=1)
    data, results = found.people, found.models
    try:
        outcome = import_all(data, results, job.slug, job.texts)
    except ImportRefusedError as refusal:
        lines = "\n".join(problem_lines(refusal.problems))
        # Of a ZIP, a folder that is gone says nothing to anybody
        raise RefusedError(lines.replace(str(folder), job.folder)) from refusal
    report = make_full_report(data, results, job.slug, job.texts, outcome)
    lease.write(done=STEPS, lines=report.lines())
    if job.upload:
        forget_zip(job)


@contextmanager
def _folder(job: PublishedImport) -> Iterator[Path]:
    """Where the published data lie: a folder of the server, or for as long as this takes, what a ZIP holds."""
    if not job.upload:
        folder = inside(settings.IMPORTS_DIR, job.folder)
        if folder is None or not folder.is_dir():
            raise RefusedError(f"There is no folder {job.folder} in {settings.IMPORTS_DIR}.")
        yield folder
        return
    with TemporaryDirectory(prefix="import-") as name:
        root = Path(name)
        try:
            with opened_zip(job) as file:
                data = file.read()
            unpack_sent(data, root, most_bytes=MOST_UNPACKED, most_files=MOST_FILES)
        except FileNotFoundError as gone:
            raise RefusedError("The file is no longer stored. Upload it again.") from gone
        except ZipRefusedError as refused:
            raise RefusedError(str(refused)) from refused
        # A ZIP of a repository holds one folder, and everything in it
        top = list(root.iterdir())
        is_one = len(top) == 1 and top[0].is_dir() and top[0].name not in (*FOLDERS, FOLDER)
        yield top[0] if is_one else root
