"""Computes reports and trials of teams once, and finds what is computed: one service for pages, commands and workers.

A result is looked up by its key, which costs the same at any size of the study. Where it is not there, a row says who
computes it: a worker, where there are any; else this process, if the data are few; else one that it starts.
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet, Sum
from django.utils import timezone
from django.utils.text import capfirst

from analysis import store
from analysis.data.filters import ReportOptions, UnknownChoiceError
from analysis.data.version import data_version, usual_kind
from analysis.models import Computation
from analysis.models.computations import MAX_STEP
from analysis.stats import NotEnough
from analysis.store import StoredResult
from analysis.teams.options import TeamOptions
from experiment.models import ItemCount, Participant, Study
from lib.code import code_digest
from lib.jobs import worker, workers
from lib.jobs.leases import Lease, make_room, reopen, request_cancel, run_job
from lib.jobs.models import NOBODY
from lib.jobs.progress import progress
from lib.jobs.queue import enqueue
from scoring.models import Answer

Options = ReportOptions | TeamOptions
Progress = Callable[[str], None]

MAX_INLINE_TRIALS = 3_000  # a few seconds
MOST_WAITING = 5  # of a study, whatever its pages and programs ask
EXPECTED = (NotEnough, UnknownChoiceError)  # their messages are sentences for the reader
KINDS: dict[type[Options], Computation.Kind] = {
    ReportOptions: Computation.Kind.REPORT,
    TeamOptions: Computation.Kind.TEAMS,
}
# The code that computes and draws: what other code has stored is computed again
CODE = ("analysis", "scoring/domain", "experiment/domain", "lib")
_CLOSED = (Computation.Status.FAILED, Computation.Status.CANCELLED)  # until a retry is asked for


class Computer(Enum):
    """Process that computes a result that is not there yet."""

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
    started_at: datetime | None = None
    step: str = ""  # what is being computed

    @property
    def title(self) -> str:
        return "The results could not be computed" if self.problem else "Computing the results"

    @property
    def said(self) -> str:
        """The state, and each quarter, for those who hear the page."""
        announced = 0 if self.problem else progress(self, timezone.now()).announced
        return f"{self.title}, {announced}% done" if announced else self.title

    @property
    def explained(self) -> str:
        """Sentence on where it is computed, and how long that takes."""
        return {
            Computer.WORKER: "A worker is computing the results. This page shows them when they are ready.",
            Computer.PROCESS: "Because there are many trials, a separate process computes the results one at a time. This page shows them when "
            "they are ready.",
            Computer.PAGE: "This takes between a few seconds and a minute. After that, the results are shown immediately until the data change.",
        }[self.by]

    @property
    def steps(self) -> str:
        """At which step it is, from 1, and what that is; "" where nothing is known of steps.

        >>> Waiting(Computer.WORKER, done=2, total=9, step="power").steps, Waiting(Computer.PAGE, step="power").steps
        ('Step 3 of 9: power', 'Power')
        """
        if not self.total:
            return capfirst(self.step)
        step = f"Step {min(self.done + 1, self.total)} of {self.total}"
        return f"{step}: {self.step}" if self.step else step

    @property
    def is_of_others(self) -> bool:
        """True if it goes on without this page, so that it can be stopped."""
        return self.by is not Computer.PAGE

    @property
    def live_seconds(self) -> str:
        """After how many seconds a page asks again; at once where it asks for the computation itself."""
        return "1" if self.is_of_others else "0.2"


class Asked:
    """Question to a study: the kind of people and the version of the data are found once, when they are needed."""

    def __init__(self, study: Study, options: Options, kind: str = "") -> None:
        self.study, self.options = study, options
        self.kind = kind or options.participants or usual_kind(study)

    @cached_property
    def version(self) -> str:
        return data_version(self.study)

    @property
    def key(self) -> str:
        """Names what a result would be: equal keys, equal results."""
        return self._key(self.options)

    @property
    def rows(self) -> QuerySet[Computation]:
        """All of this study and kind of result."""
        return Computation.objects.filter(study=self.study, kind=KINDS[type(self.options)])

    def find(self) -> StoredResult | None:
        """Result for these options and today's data, if it is computed; a report on all sources holds that on each."""
        names = [self.key]
        if isinstance(self.options, ReportOptions):
            names.append(self._key(replace(self.options, source="all")))
        return next(filter(None, map(self.open, names)), None)

    def open(self, name: str) -> StoredResult | None:
        """A computed result by its key, whatever has become of the data since; None where it is gone."""
        row = self.rows.filter(key=name, status=Computation.Status.FINISHED).first()
        return store.read(row) if row else None

    def state(self) -> StoredResult | Waiting:
        """The result, or who computes it. Computes nothing."""
        if found := self.find():
            return found
        is_taken = workers.is_taken(Computation)
        by = Computer.WORKER
        if not is_taken and settings.JOB_EXECUTOR != "celery":
            # About how many trials a result is about; of imported people who are joined from elsewhere at most so many
            counts = ItemCount.objects.filter(kind=self.kind)
            own = self.study.participants.filter(kind=self.kind)
            if self.kind != Participant.Kind.IMPORTED or own.exists():
                counts = counts.filter(study=self.study)
            n: int = counts.aggregate(n=Sum("judged", default=0))["n"]
            n += Answer.objects.filter(run__study=self.study).count()
            by = Computer.PROCESS if n > MAX_INLINE_TRIALS else Computer.PAGE
        row = self.rows.filter(key=self.key).first()
        if row is None and by is not Computer.PAGE:
            # The last result of the same options stands for as long again as it took: while people take part, data never rest
            same = self.rows.filter(options=self.options.as_dict())
            last = same.filter(status=Computation.Status.FINISHED).order_by("pk").last()
            if last and last.started_at and last.finished_at:
                took = last.finished_at - last.started_at
                is_recent = timezone.now() - last.finished_at <= took
                if is_recent and (found := store.read(last)):
                    return found
            row = self._open_row()
        is_taken |= by is not Computer.WORKER
        if row is None:
            return Waiting(by, is_taken=is_taken)
        problem = ""
        if row.status in _CLOSED:
            problem = row.error or "It was stopped."
        return Waiting(
            by,
            problem,
            row.done,
            row.total,
            is_asked=True,
            is_taken=is_taken,
            started_at=row.started_at,
            step=row.step,
        )

    def ensure_computed(self) -> StoredResult | Waiting:
        """The result: computed here if the data are few, else asked of others, once. A failed or stopped one stays so."""
        found = self.state()
        if isinstance(found, StoredResult) or found.problem:
            return found
        if found.by is Computer.PAGE:
            with suppress(Exception):  # logged by the job, whose row says what went wrong
                run(self.row())
            return self.state()
        row = self._open_row() or self.row()
        if found.by is Computer.PROCESS:
            worker.start_process(row)
        return found

    def retry(self) -> None:
        """Let a failed or stopped computation wait again."""
        row = self.rows.filter(key=self.key).first()
        if row is not None and row.status in _CLOSED:
            with transaction.atomic():
                self._enqueue(reopen(row))

    def stop(self) -> None:
        """Stop a computation that waits or runs, if there is one."""
        if row := self.rows.filter(key=self.key).first() or self._open_row():
            request_cancel(row)

    def keep(self, save: Callable[[Computation], None]) -> StoredResult:
        """Store a result that a command has computed, where the page finds it; `save` writes its files."""
        row = self._get_or_create()[0]
        save(row)
        self.rows.filter(pk=row.pk).update(
            status=Computation.Status.FINISHED, error="", finished_at=timezone.now()
        )
        row.refresh_from_db()
        found = store.read(row)
        assert found is not None
        return found

    def row(self) -> Computation:
        """The row of this computation, new or known; workers get a message about a new one, or one whose files are gone."""
        with transaction.atomic():
            row, is_new = self._get_or_create()
            if row.status == Computation.Status.FINISHED:  # but its files were cleared away
                self.rows.filter(pk=row.pk).update(status=Computation.Status.WAITING)
                row.refresh_from_db()
                is_new = True
            if is_new:
                self._enqueue(row)
        return row

    def _enqueue(self, row: Computation) -> None:
        """A page that is looked at asks for it: so many such questions wait, and the newest is what people look at."""
        make_room(Computation.objects.filter(study=self.study), row, MOST_WAITING)
        enqueue(row, NOBODY)

    def _get_or_create(self) -> tuple[Computation, bool]:
        new = {
            "study": self.study,
            "kind": KINDS[type(self.options)],
            "options": self.options.as_dict(),
        }
        return self.rows.get_or_create(key=self.key, defaults=new)

    def _key(self, options: Options) -> str:
        asked = replace(options, participants=self.kind).as_dict()
        state = [code_digest(*CODE), self.version, settings.LANGUAGE_CODE, asked]
        return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()[:24]

    def _open_row(self) -> Computation | None:
        """One of the same options that waits or runs, be it of other data: another would be as old once it is finished."""
        rows = self.rows.filter(options=self.options.as_dict())
        return rows.filter(status__in=Computation.OPEN_STATUSES).order_by("pk").first()


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
        from analysis.report.services.make import make_report, n_steps
        from analysis.report.services.save import save_report

        options = from_json(ReportOptions, computation.options)
        steps = _Steps(lease, n_steps(computation.study, options))
        report = make_report(computation.study, options, steps.advance)
        save_report(computation, report, steps.advance)
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

    def advance(self, step: str) -> None:
        """Before each step, with its name."""
        self.done += 1
        self.lease.check()
        self.lease.write(done=self.done, total=self.total, step=step[:MAX_STEP])


def data_set_state(study: Study) -> str:
    """Name of the state of a data set's tables besides trials. Equal names, equal tables: of models, and of the teams that are stored."""
    teams = Computation.objects.filter(
        study=study, kind=Computation.Kind.TEAMS, status=Computation.Status.FINISHED
    )
    parts = [data_version(study), *teams.order_by("key").values_list("key", flat=True)]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def forget_results(study: Study, **_: Any) -> None:
    """Delete a study's stored results: at once for readers, and their files once the transaction is committed."""
    computations = Computation.objects.filter(study=study)
    computations.delete()

    def delete_all() -> None:
        computations.delete()  # those too that were begun before the commit
        store.delete_unowned(study.pk)

    transaction.on_commit(delete_all, robust=True)
