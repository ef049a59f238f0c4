"""Use case: a model is asked a study's questions, or goes on with them."""

from collections.abc import Mapping
from dataclasses import replace

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.template.loader import render_to_string

from experiment.models import Item, Study
from experiment.services import work
from lib.jobs import leases
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish
from scoring.models import Answer, AnsweringRun
from scoring.services.generating.settings import Asked
from scoring.services.open_model import default_name, language_model

# As the method has it; the demonstration model's window is smaller than such an answer
DEFAULTS = {"max_tokens": "1024", "temperature": "0"}
TRIES = {"tries": "3"}
LEFT_OUT = "none"
ANY_FIELD = "science"
Status = AnsweringRun.Status


def default_instructions() -> str:
    return render_to_string("scoring/answering/system_prompt.txt").strip()


def answering_run(
    study: Study,
    asked: Asked,
    *,
    name: str = "",
    instructions: str = "",
    limit: int | None = None,
    by: User | None = None,
) -> AnsweringRun:
    """A run, not stored yet, on the accepted questions that the study holds.

    Args:
        name: of the model in tables, else as it is asked for.
        instructions: the system prompt, whose place is {field}.
        limit: only the first so many questions.
    Raises:
        ScoringError: the model cannot be meant like this, or there is nothing to answer.
    """
    asked = replace(asked, model_args=with_defaults(asked.generator, asked.model_args))
    asked.check()
    if limit is not None and limit < 1:
        raise ScoringError(f"limit must be 1 or more, not {limit}.")
    questions = Item.objects.drawable_in(study).filter(kind=Item.Kind.QUESTION)
    items = list(questions.order_by("key", "version").values_list("pk", flat=True)[:limit])
    if not items:
        raise ScoringError("Nothing is to be answered: the study holds no accepted question.")
    told = (instructions.strip() or default_instructions()).replace(
        "{field}", study.field or ANY_FIELD
    )
    name = name or default_name(asked.generator, asked.model_args)
    return AnsweringRun(
        study=study,
        language_model=language_model(asked.generator, name),
        items=items,
        total=len(items),
        fingerprint=asked.fingerprint(study.pk, name, told, limit),
        **asked.columns(told, by),
    )


def with_defaults(generator: str, args: Mapping[str, str]) -> dict[str, str]:
    """The arguments with what holds where nothing is said; "none" leaves a number to the server.

    >>> with_defaults("hf", {"pretrained": "m", "temperature": "none"})
    {'max_tokens': '1024', 'pretrained': 'm'}
    """
    shared = {} if generator == "embedded" else DEFAULTS
    known = shared | (TRIES if generator == "chat" else {}) | dict(args)
    return {name: value for name, value in known.items() if value != LEFT_OUT}


def newest_same(draft: AnsweringRun) -> AnsweringRun | None:
    """The newest run of the same model, instructions and limit; the study's questions may have changed since."""
    return AnsweringRun.objects.filter(fingerprint=draft.fingerprint).order_by("-pk").first()


def newest_open(draft: AnsweringRun) -> AnsweringRun | None:
    """As `newest_same`, where something is left to be answered."""
    same = newest_same(draft)
    return same if same is not None and (same.is_open or can_resume(same)) else None


def can_resume(run: AnsweringRun) -> bool:
    """Whether it is over with questions left, or some that failed."""
    if run.is_open or run.generator == "imported":
        return False
    return run.status != Status.FINISHED or failed(run).exists()


def failed(run: AnsweringRun) -> QuerySet[Answer]:
    return run.answers.filter(finish=Finish.FAILED)


@transaction.atomic
def start(draft: AnsweringRun, by: User) -> AnsweringRun:
    """Store it, and have a worker do it; a form that was sent twice is one run."""
    Study.objects.select_for_update().get(pk=draft.study_id)
    if (same := newest_same(draft)) is not None and same.is_open:
        return same
    draft.save()
    work.start(draft, by)
    return draft


def reopen(run: AnsweringRun) -> AnsweringRun:
    """Let it wait again, where something is left to be answered; what failed is asked again."""
    return leases.reopen(run, also_finished=True) if can_resume(run) else run


def resume(run: AnsweringRun, by: User) -> AnsweringRun:
    """Have a worker go on with it."""
    if can_resume(run):
        with transaction.atomic():
            run = reopen(run)
            work.start(run, by)
    return run
