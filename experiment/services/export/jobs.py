"""Exports of trials that workers make: found again while the data stay as they are, deleted when a participant withdraws."""

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import IO, cast
from urllib.parse import parse_qs

from django.core.files import File
from django.core.files.storage import Storage, storages
from django.db import connections, transaction
from django.utils import timezone

from experiment.domain.release import CSV, DATA_SET, Form
from experiment.domain.trial_query import QueryError, TrialQuery, parse
from experiment.models import Study, TrialExport
from experiment.services.export import data_set
from experiment.services.export.files import Blocks, export_trials
from experiment.services.export.trials import completed, count, data_state, is_quickly_counted
from lib.jobs.leases import Lease, make_room, reopen, run_job
from lib.jobs.models import NOBODY
from lib.jobs.queue import enqueue
from lib.storage import file_names

STORED_PER_STUDY = 8
MOST_WAITING = 5  # of a study, whatever its pages and programs ask for
LARGE = 100_000  # rows: what has more takes longer than a request may
RECENT = timedelta(minutes=10)  # in which a program that waited comes for its file
Status = TrialExport.Status


def ensure_exported(study: Study, query: TrialQuery, form: Form = CSV) -> TrialExport:
    """The export of the data as they are: finished, or asked of the workers, once. A failed one stays failed.

    Raises:
        QueryError: the query names what the study does not have.
    """
    query = completed(study, query)
    key = _state(study, query, form)
    asked = {"study": study, "query": query.encode(), "format": form.encode()}
    exports = TrialExport.objects.filter(**asked)
    found = exports.filter(status=Status.FINISHED, state=key).first()
    if found is not None and _storage().exists(found.path):
        exports.filter(pk=found.pk).update(used_at=timezone.now())
        return found
    with transaction.atomic():
        job, is_new = exports.get_or_create(key=key, defaults=asked)
        # Its file was cleared away, or holds the data as they were for a while after the request
        is_new |= bool(
            exports.filter(pk=job.pk, status=Status.FINISHED).update(
                status=Status.WAITING, finished_at=None, done=0, used_at=timezone.now()
            )
        )
        if is_new:
            job.refresh_from_db()
            make_room(study.exports.all(), job, MOST_WAITING)
            enqueue(job, NOBODY)
    return job


def takes_long(study: Study, query: TrialQuery) -> bool:
    """True if a worker is to answer a completed query."""
    return not is_quickly_counted(study, query) or count(study, query) > LARGE


def ensure_recent(study: Study, query: TrialQuery, form: Form = CSV) -> TrialExport:
    """As `ensure_exported`, for a program that asks until the file is there: while people answer, the data never rest.

    So one of the same question that is on its way, or was made a moment ago, is as good.
    """
    asked = {"study": study, "query": query.encode(), "format": form.encode()}
    good = (*TrialExport.OPEN_STATUSES, Status.FINISHED)
    newest = TrialExport.objects.filter(**asked, status__in=good).order_by("pk").last()
    if newest is not None:
        if newest.is_open:
            return newest
        is_recent = newest.finished_at and timezone.now() - newest.finished_at < RECENT
        if is_recent and _storage().exists(newest.path):
            return newest
    return ensure_exported(study, query, form)


def retry(job: TrialExport) -> None:
    """Let a failed or cancelled export wait again."""
    if job.status in (Status.FAILED, Status.CANCELLED):
        with transaction.atomic():
            enqueue(reopen(job), NOBODY)


def open_file(job: TrialExport) -> IO[bytes]:
    """The file of a finished export.

    Raises:
        FileNotFoundError: it was cleared away.
    """
    return cast("IO[bytes]", _storage().open(job.path))


def delete_exports(study: Study) -> None:
    """Delete a study's exports: at once for readers, and their files once the transaction is committed."""
    exports = TrialExport.objects.filter(study=study)
    exports.delete()

    def delete_all() -> None:
        exports.delete()  # those too that were begun before the commit
        _clear(study.pk)

    transaction.on_commit(delete_all, robust=True)


def run(job: TrialExport) -> TrialExport:
    """Export, as a worker does; the row says how it went."""
    try:
        return run_job(job, _export, expected=(QueryError,))
    except TrialExport.DoesNotExist:  # deleted, since a participant withdrew
        return job


def _state(study: Study, query: TrialQuery, form: Form) -> str:
    """A name for all that the file depends on."""
    trials = data_state(study, query)
    if form.format != DATA_SET:
        return trials
    return hashlib.sha256(" ".join([trials, *data_set.states(study)]).encode()).hexdigest()[:24]


def _export(job: TrialExport, lease: Lease) -> None:
    def watch(blocks: Blocks) -> Blocks:
        study = Study.objects.get(pk=job.study_id)
        job.state = _state(study, query, job.form)
        total = count(study, query) if is_quickly_counted(study, query) else 0
        # Before there is a file, so that one without a row belongs to no worker
        outside(partial(lease.write, state=job.state, total=total))
        done = 0
        for block in blocks:
            outside(lease.check)
            outside(partial(lease.write, done=done))
            yield block
            done += len(block[0])

    query = parse(parse_qs(job.query))
    try:
        with tempfile.TemporaryFile() as file:
            with _other_connection() as outside:
                export = export_trials(job.study, query, file, job.form, watch)
            lease.check()
            _storage().save(job.path, File(file))
        lease.write(done=export.rows, rows=export.rows, manifest=export.as_dict())
    finally:
        _clear(job.study_id)


@contextmanager
def _other_connection() -> Iterator[Callable[[Callable[[], object]], object]]:
    """Calls functions in a thread: its connection reads and writes beside the snapshot of this one."""
    with ThreadPoolExecutor(1) as thread:
        try:
            yield lambda call: thread.submit(call).result()
        finally:
            thread.submit(connections.close_all).result()


def _clear(study_id: int) -> None:
    """Delete the exports beyond the newest, and all files that belong to no export."""
    exports = TrialExport.objects.filter(study=study_id)
    closed = exports.exclude(status__in=TrialExport.OPEN_STATUSES).order_by("-used_at")
    old = list(closed.values_list("pk", flat=True)[STORED_PER_STUDY:])
    exports.filter(pk__in=old).delete()
    folder = f"exports/{study_id}"
    names = file_names(_storage(), folder)  # first: a file's row is older than the file
    of_rows = tuple(Path(export.path).name for export in exports)
    for name in names:
        # A file that is being written has a dot before its name
        if not name.lstrip(".").startswith(of_rows):
            _storage().delete(f"{folder}/{name}")


def _storage() -> Storage:
    return storages["results"]
