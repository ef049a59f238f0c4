"""Computes reports and trials of teams once, and finds what is computed: one service for pages, commands and workers.

A result is looked up by its key, which costs the same at any size of the study. Where it is not there, a row says who
computes it: a worker, where there are any; else this process, if the data are few; else one that it starts.
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from analysis import store
from analysis.data.filters import ReportOptions, UnknownChoiceError
from analysis.data.version import data_version, participants_kind
from analysis.models import Computation
from analysis.stats import NotEnough
from analysis.store import StoredResult
from analysis.teams.options import TeamOptions
from experiment.models import ItemCount, Participant, Study
from lib.code import code_digest
from lib.jobs import background, presence
from lib.jobs.leases import Lease, reopen, request_cancel
from lib.jobs.queue import enqueue
from lib.jobs.running import run_job
from scoring.models import Answer

Options = ReportOptions | TeamOptions
Progress = Callable[[str], None]

MAX_INLINE_TRIALS = 3_000  # a few seconds
EXPECTED = (NotEnough, UnknownChoiceError)  # their messages are sentences for the reader
KINDS: dict[type[Options], Computation.Kind] = {
    ReportOptions: Computation.Kind.REPORT,
    TeamOptions: Computation.Kind.TEAMS,
}
# The code that computes and draws: what other code has stored is computed again
CODE = ("analysis", "scoring/domain", "experiment/domain", "lib", "templates/analysis/figures")
_CLOSED = (Computation.Status.FAILED, Computation.Status.CANCELLED)  # until a retry is asked for


class Computer(Enum):
    """Who computes a result that is not there yet."""

    PAGE = "page"
    WORKER = "worker"
    PROCESS = "process"


@dataclass(frozen=True, slots=True)
class Waiting:
    """There is no result yet: who computes it, and how far that is; `problem` says why it does not go on.

    `is_taken` is false where workers are to compute it, and none lives.
    """

    by: Computer
    problem: str = ""
    done: int = 0
    total: int = 0
    is_asked: bool = False  # it waits for its turn, runs, or was stopped
    is_taken: bool = True


def key(study: Study, options: Options, version: str = "") -> str:
    """Names what a result would be: equal keys, equal results."""
    report_options = options if isinstance(options, ReportOptions) else options.of_report()
    kind = participants_kind(study, report_options)
    asked = replace(options, participants=kind).as_dict()
    state = [code_digest(*CODE), version or data_version(study), settings.LANGUAGE_CODE, asked]
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()[:24]


def find(study: Study, options: Options, version: str = "") -> StoredResult | None:
    """What is computed for these options and today's data; a report on all sources holds that on each."""
    version = version or data_version(study)
    keys = [key(study, options, version)]
    if isinstance(options, ReportOptions):
        keys.append(key(study, replace(options, source="all"), version))
    for name in keys:
        if found := open_result(study, options, name):
            return found
    return None


def open_result(study: Study, options: Options, name: str) -> StoredResult | None:
    """A computed result by its key, whatever has become of the data since; None where it is gone."""
    row = _rows(study, options).filter(key=name, status=Computation.Status.FINISHED).first()
    return store.read(row) if row else None


def state(study: Study, options: Options) -> StoredResult | Waiting:
    """The result, or who computes it. Computes nothing."""
    version = data_version(study)
    if found := find(study, options, version):
        return found
    is_taken = presence.is_taken(Computation)
    by = _computer(study, options, is_taken)
    row = _rows(study, options).filter(key=key(study, options, version)).first()
    if row is None and by is not Computer.PAGE:
        if found := _just_computed(study, options):
            return found
        row = _open(study, options)
    is_taken |= by is not Computer.WORKER
    if row is None:
        return Waiting(by, is_taken=is_taken)
    problem = ""
    if row.status in _CLOSED:
        problem = row.error or _("It was stopped.")
    return Waiting(by, problem, row.done, row.total, is_asked=True, is_taken=is_taken)


def ensure_computed(study: Study, options: Options) -> StoredResult | Waiting:
    """The result: computed here if the data are few, else asked of others, once. A failed or stopped one stays so."""
    found = state(study, options)
    if isinstance(found, StoredResult) or found.problem:
        return found
    if found.by is Computer.PAGE:
        with suppress(Exception):  # logged by the job, whose row says what went wrong
            run(_row(study, options))
        return state(study, options)
    row = _open(study, options) or _row(study, options)
    if found.by is Computer.PROCESS:
        background.start(row)
    return found


def retry(study: Study, options: Options) -> None:
    """Let a failed or stopped computation wait again."""
    row = _rows(study, options).filter(key=key(study, options)).first()
    if row is not None and row.status in _CLOSED:
        with transaction.atomic():
            enqueue(reopen(row))


def stop(study: Study, options: Options) -> None:
    """Stop a computation that waits or runs, if there is one."""
    row = _rows(study, options).filter(key=key(study, options)).first()
    if row := row or _open(study, options):
        request_cancel(row)


def keep(study: Study, options: Options, save: Callable[[Computation], None]) -> StoredResult:
    """Store a result that a command has computed, where the page finds it; `save` writes its files."""
    row = _rows(study, options).get_or_create(
        key=key(study, options),
        defaults={"study": study, "kind": KINDS[type(options)], "options": options.as_dict()},
    )[0]
    save(row)
    _rows(study, options).filter(pk=row.pk).update(
        status=Computation.Status.FINISHED, error="", finished_at=timezone.now()
    )
    row.refresh_from_db()
    found = store.read(row)
    assert found is not None
    return found


def run(computation: Computation) -> Computation:
    """Compute, as a worker does; the row says how it went."""
    try:
        return run_job(computation, _work, expected=EXPECTED)
    except Computation.DoesNotExist:  # deleted, since a participant withdrew
        store.delete_unowned(computation.study_id)
        return computation


def _work(computation: Computation, lease: Lease) -> None:
    # Here, since a web process that computes nothing does without what computes
    from analysis.codec import from_json

    if computation.kind == Computation.Kind.REPORT:
        from analysis.report.contents import CHAPTERS
        from analysis.report.services.make import make_report
        from analysis.report.services.save import save_report

        options = from_json(ReportOptions, computation.options)
        steps = _Steps(lease, len(CHAPTERS) * len(options.sources))
        save_report(computation, make_report(computation.study, options, steps.advance))
    else:
        from analysis.teams.services import make_teams, save_teams

        asked = from_json(TeamOptions, computation.options)
        save_teams(computation, make_teams(computation.study, asked, _Steps(lease).advance))


@dataclass
class _Steps:
    """Counts a computation's steps in its row, and stops it where a stop was asked for."""

    lease: Lease
    total: int = 0
    done: int = -1

    def advance(self, *_: object) -> None:
        self.done += 1
        self.lease.check()
        self.lease.write(done=self.done, total=self.total)


def _computer(study: Study, options: Options, is_taken: bool) -> Computer:
    if is_taken or settings.JOB_EXECUTOR == "celery":
        return Computer.WORKER
    report_options = options if isinstance(options, ReportOptions) else options.of_report()
    kind = participants_kind(study, report_options)
    n = _n_judged(study, kind) + Answer.objects.filter(run__study=study).count()
    return Computer.PROCESS if n > MAX_INLINE_TRIALS else Computer.PAGE


def _n_judged(study: Study, kind: str) -> int:
    """About how many trials a result is about; of imported people who are joined from elsewhere at most so many."""
    rows = ItemCount.objects.filter(kind=kind)
    if kind != Participant.Kind.IMPORTED or study.participants.filter(kind=kind).exists():
        rows = rows.filter(study=study)
    found: int = rows.aggregate(n=Sum("judged", default=0))["n"]
    return found


def _open(study: Study, options: Options) -> Computation | None:
    """One of the same options that waits or runs, be it of other data: another would be as old once it is finished."""
    rows = _rows(study, options).filter(options=options.as_dict())
    return rows.filter(status__in=Computation.OPEN_STATUSES).order_by("pk").first()


def _just_computed(study: Study, options: Options) -> StoredResult | None:
    """The last result of the same options, for as long again as it took: while people take part, the data never rest."""
    rows = _rows(study, options).filter(options=options.as_dict())
    row = rows.filter(status=Computation.Status.FINISHED).order_by("pk").last()
    if row is None or row.started_at is None or row.finished_at is None:
        return None
    is_recent = timezone.now() - row.finished_at <= row.finished_at - row.started_at
    return store.read(row) if is_recent else None


def _row(study: Study, options: Options) -> Computation:
    """The row of this computation, new or known; workers get a message about a new one, or one whose files are gone."""
    with transaction.atomic():
        row, is_new = _rows(study, options).get_or_create(
            key=key(study, options),
            defaults={"study": study, "kind": KINDS[type(options)], "options": options.as_dict()},
        )
        if row.status == Computation.Status.FINISHED:  # but its files were cleared away
            _rows(study, options).filter(pk=row.pk).update(status=Computation.Status.WAITING)
            row.refresh_from_db()
            is_new = True
        if is_new:
            enqueue(row)
    return row


def _rows(study: Study, options: Options) -> QuerySet[Computation]:
    return Computation.objects.filter(study=study, kind=KINDS[type(options)])
