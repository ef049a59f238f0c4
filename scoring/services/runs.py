"""Create a run, or find one to go on with; queue and stop runs. All is checked before any model is opened."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from experiment.models import Item, Study
from experiment.services import audit, work
from experiment.services.usable import is_site
from lib.jobs import leases
from lib.jobs.leases import request_cancel
from lib.jobs.queue import enqueue
from scoring.backends.reading import Reading
from scoring.backends.registry import SCORERS, known_kind
from scoring.domain.backend import ScoringError
from scoring.domain.prompts import Prompt, PromptError
from scoring.models import LanguageModel, ScoringRun
from scoring.services import servers
from scoring.services.open_model import default_name, language_model
from scoring.services.site_wide import continued
from scoring.services.texts import RunTexts, texts_of

DEFAULT_SEED = 42
# What distinguishes runs when one is resumed; the model's and study's names come with them
SETTINGS = "corpus backend model_args condition prompt prompt_text source seed limit batch_tokens is_anchor"
Status = ScoringRun.Status


def draft_run(
    *,
    study: Study | None = None,
    corpus: str = "",
    corpus_file: Mapping[str, str] | None = None,
    is_anchor: bool = False,
    language_model: LanguageModel,
    backend: str,
    model_args: Mapping[str, str],
    condition: str = "full",
    prompt: str = "paper",
    custom_prompt: str = "",
    source: str = "",
    seed: int | None = None,
    limit: int | None = None,
    batch_tokens: int | None = None,
    user: Any = None,
) -> ScoringRun:
    """A run that is not stored yet, with its fingerprint and how many pairs of texts it has.

    Raises:
        ScoringError: it cannot be meant like this, there is nothing to score, or the user may not use the model's server.
    """
    kind = known_kind(backend, SCORERS, "backend")
    _check_choices(condition=condition, prompt=prompt, source=source)
    for name, number in (("limit", limit), ("batch_tokens", batch_tokens)):
        if number is not None and number < 1:
            raise ScoringError(f"{name} must be 1 or more, not {number}.")
    if batch_tokens is not None and Reading.of(model_args).batch_size is not None:
        raise ScoringError("Give either batch_size or batch_tokens, not both.")
    # Only swaps are drawn; the seed of anything else would make two runs of one
    if condition != ScoringRun.Condition.SWAPPED:
        seed = None
    elif seed is None:
        seed = DEFAULT_SEED
    run = ScoringRun(
        study=study,
        corpus=corpus,
        corpus_file=dict(corpus_file or {}),
        is_anchor=is_anchor,
        language_model=language_model,
        backend=kind.stored_as or kind.name,
        model_args=dict(model_args),
        server=servers.checked(backend, model_args, user),
        condition=condition,
        prompt=prompt,
        prompt_text=prompt_of(prompt, custom_prompt).template,
        source=source,
        seed=seed,
        limit=limit,
        batch_tokens=batch_tokens,
        created_by=user,
        is_site_wide=is_site(user),
    )
    texts = texts_of(run)
    run.total = texts.total
    run.fingerprint = fingerprint(run, texts)
    return run


def create_run(**settings: Any) -> ScoringRun:
    """Store a run: it waits until a worker takes it. The arguments are those of `draft_run`.

    Raises:
        ScoringError: it cannot be meant like this, or there is nothing to score.
    """
    run = draft_run(**settings)
    run.save()
    return run


def newest_same(draft: ScoringRun) -> ScoringRun | None:
    """The newest stored run of the same settings and texts as one that is not stored yet."""
    return ScoringRun.objects.filter(fingerprint=draft.fingerprint).order_by("-pk").first()


def reopen(run: ScoringRun, corpus_file: Mapping[str, str] | None = None) -> ScoringRun:
    """Let a failed or cancelled run wait again; its scores stay. A corpus' file may have moved."""
    if corpus_file is not None:
        ScoringRun.objects.filter(pk=run.pk).update(corpus_file=dict(corpus_file))
    return leases.reopen(run)


def fingerprint(run: ScoringRun, texts: RunTexts) -> str:
    """SHA-256 over all settings and the texts."""
    values = {name: getattr(run, name) for name in SETTINGS.split()}
    values["study"] = run.study.slug if run.study else None
    values["language_model"] = run.language_model.name
    values["texts"] = texts.sha256
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def prompt_of(kind: str, custom: str) -> Prompt:
    """The prompt of a run.

    Raises:
        ScoringError: a custom one without exactly one place for the text.
    """
    try:
        return Prompt.of(kind, custom)
    except PromptError as error:
        raise ScoringError(f"The prompt cannot be used: {error}.") from error


def _check_choices(**chosen: str) -> None:
    choices = {
        "condition": ScoringRun.Condition.values,
        "prompt": ScoringRun.Prompt.values,
        "source": ["", *Item.Source.values],
    }
    for name, value in chosen.items():
        if value not in choices[name]:
            known = ", ".join(str(choice) for choice in choices[name] if choice)
            raise ScoringError(f"There is no {name} “{value}”. Choose from {known}.")


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
            # One that goes on keeps its scores; one that is under way is not queued twice
            run = newest_same(draft)
            if run is not None and run.is_open:
                queued.known.append(run)
                continue
            if run is None or run.status == ScoringRun.Status.FINISHED:
                run = draft
                run.save()
            else:
                run = reopen(run)
                continued(run, draft.created_by)
            queued.waiting.append(run)
            enqueue(run, work.number_of(user))
        if queued.waiting:
            _note(audit.Action.WORK_STARTED, study, queued.waiting, user)
    return queued


def resume(run: ScoringRun, by: By = None) -> ScoringRun:
    """Let a failed or cancelled run wait again."""
    with transaction.atomic():
        run = reopen(run)
        continued(run, by)
        enqueue(run, work.number_of(by))
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
