"""Use case: queue runs from a page. They wait in the database; where workers listen, they get a message."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from experiment.models import Study
from experiment.services import audit
from lib.jobs.leases import reopen, request_cancel
from lib.jobs.queue import enqueue
from scoring.models import LanguageModel, ScoringRun
from scoring.services.create_run import draft_run, newest_same
from scoring.services.open_model import default_name, language_model

By = User | AnonymousUser | None


@dataclass(frozen=True)
class Queued:
    """The runs that wait now, and those of the same settings that were open before."""

    waiting: list[ScoringRun] = field(default_factory=list)
    known: list[ScoringRun] = field(default_factory=list)


def queue_runs(
    study: Study,
    *,
    backend: str,
    model_args: Mapping[str, str],
    conditions: Sequence[str],
    name: str = "",
    user: By = None,
    **fields: Any,
) -> Queued:
    """Queue a run for each condition, all or none. One that failed or was stopped goes on instead of a new one.

    Raises:
        ScoringError: one cannot be meant like this, or there is nothing to score.
    """
    name = name or default_name(backend, model_args)
    # Reading hundreds of texts takes seconds, in which no transaction may keep participants waiting
    drafts = [
        draft_run(
            study=study,
            language_model=LanguageModel(name=name),
            backend=backend,
            model_args=model_args,
            condition=condition,
            user=user,
            **fields,
        )
        for condition in conditions
    ]
    queued = Queued()
    with transaction.atomic():
        model = language_model(backend, name)
        for draft in drafts:
            draft.language_model = model
            _queue(draft, queued)
        if queued.waiting:
            _note(audit.Action.WORK_STARTED, study, queued.waiting, user)
    return queued


def _queue(draft: ScoringRun, queued: Queued) -> None:
    run = newest_same(draft)
    if run is not None and run.is_open:
        queued.known.append(run)
        return
    if run is None or run.status == ScoringRun.Status.FINISHED:
        run = draft
        run.save()
    else:
        run = reopen(run)
    queued.waiting.append(run)
    enqueue(run)


def resume(run: ScoringRun, by: By = None) -> ScoringRun:
    """Let a failed or cancelled run wait again."""
    with transaction.atomic():
        run = reopen(run)
        enqueue(run)
        _note(audit.Action.WORK_STARTED, run.study, [run], by)
    return run


@transaction.atomic
def stop(run: ScoringRun, by: By = None) -> ScoringRun:
    """Stop an open run: at once while it waits, else when its worker next looks. Its scores stay."""
    run = request_cancel(run)
    _note(audit.Action.WORK_STOPPED, run.study, [run], by)
    return run


def _note(action: audit.Action, study: Study | None, runs: Sequence[ScoringRun], by: By) -> None:
    numbers = [str(run.pk) for run in runs]
    audit.record(action, by=by, study=study, work="scoring", runs=numbers)
