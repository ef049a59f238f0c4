"""Use case: a judge is asked to grade answers of a study, or goes on with them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from experiment.models import Study
from experiment.services import work
from lib.jobs import leases
from scoring.backends.http.address import parse_address
from scoring.domain.backend import ScoringError
from scoring.domain.grading.rubric import Rubric
from scoring.models import AnsweringRun, GradingRun, LanguageModel
from scoring.models.generating import Kind
from scoring.services.generating.settings import Asked
from scoring.services.grading import targets
from scoring.services.grading.plans import plan_of, rubric_of
from scoring.services.grading.prompts import default_prompt, instructions
from scoring.services.open_model import default_name, language_model

# A grade is short; a model that reasons before it needs more, and says so in its arguments
DEFAULTS = {
    Kind.CHAT: {"temperature": "0", "max_tokens": "1024", "tries": "3"},
    Kind.HF: {"max_tokens": "32"},
    Kind.EMBEDDED: {"max_tokens": "8"},
}
LEFT_OUT = "none"  # left to the server
JUDGES = (Kind.CHAT, Kind.HF, Kind.EMBEDDED, Kind.EXACT)


def grading_run(
    study: Study,
    asked: Asked,
    *,
    runs: Sequence[int] | None = None,
    models: Sequence[str] = (),
    people: bool = False,
    rubric: Rubric | None = None,
    prompt: str = "",
    by: User | None = None,
) -> GradingRun:
    """A run, not stored yet.

    Args:
        runs: answering runs by number; None for all that have answers and are not under way.
        models: of these runs only those of models that have one of these names, where there is one.
        people: also what valid participants wrote.
        rubric: else that of the study's plan.
        prompt: what the judge is told, with {rubric} where the rubric is to stand; else ours.
    Raises:
        ScoringError: the judge cannot be meant like this, participants were not told of it, or there is nothing to grade.
    """
    asked = replace(asked, model_args=with_defaults(asked.generator, asked.model_args))
    _check_judge(asked)
    if people:
        _check_told(study, asked)
    rubric = rubric or rubric_of(plan_of(study))
    told = instructions(prompt.strip() or default_prompt(), rubric)
    chosen: list[int | str] = [
        *_numbers(study, runs, models),
        *([targets.PEOPLE] if people else []),
    ]
    run = GradingRun(
        study=study,
        language_model=_judge(asked),
        rubric=rubric.to_json(),
        runs=chosen,
        fingerprint=asked.fingerprint(study.pk, told, rubric.sha256),
        **asked.columns(told, by),
    )
    run.total = targets.count(run)
    if not run.total:
        raise ScoringError("Nothing is to be graded: there is no answer yet.")
    return run


def with_defaults(judge: str, args: Mapping[str, str]) -> dict[str, str]:
    """The arguments with what holds where nothing is said; "none" leaves a number to the server.

    >>> with_defaults("chat", {"model": "m", "temperature": "none", "max_tokens": "64"})
    {'max_tokens': '64', 'tries': '3', 'model': 'm'}
    """
    known = {str(k): v for k, v in DEFAULTS.get(Kind(judge), {}).items()} | dict(args)
    return {name: value for name, value in known.items() if value != LEFT_OUT}


def newest_same(draft: GradingRun) -> GradingRun | None:
    """The newest run of the same judge, prompt, rubric and answers."""
    return next((run for run in _of_same_judge(draft) if run.runs == draft.runs), None)


def newest_like(draft: GradingRun, models: Sequence[str]) -> tuple[GradingRun | None, list[Any]]:
    """A run to go on with in place of a draft about all runs: the newest with something left, else the newest.

    With it, of the draft's runs those that no such run has: they came since, and it can take them in.

    Args:
        models: as in `grading_run`.
    """
    own = AnsweringRun.objects.filter(study=draft.study)
    asked = own.filter(language_model__name__in=models) if models else own
    elsewhere: set[Any] = {targets.PEOPLE, *own.values_list("pk", flat=True)}
    elsewhere -= {*asked.values_list("pk", flat=True), *draft.runs}
    # One that is deleted is nobody's
    like = [run for run in _of_same_judge(draft) if elsewhere.isdisjoint(run.runs)]
    left = (run for run in like if run.is_open or can_resume(run))
    known = {number for run in like for number in run.runs}
    return next(left, next(iter(like), None)), [n for n in draft.runs if n not in known]


def has_said_all(judge: str, same: GradingRun | None) -> bool:
    """Whether another run would store the same grades again: the exact-match judge says of an answer what it said before."""
    return judge == Kind.EXACT and same is not None and not (same.is_open or can_resume(same))


def take_in(run: GradingRun, more: Sequence[int | str]) -> GradingRun:
    """Have a run that nobody works on grade these answering runs too."""
    if more and not leases.is_held(run):
        numbers = sorted({n for n in (*run.runs, *more) if n != targets.PEOPLE})
        has_people = targets.PEOPLE in (*run.runs, *more)
        run.runs = [*numbers, *([targets.PEOPLE] if has_people else [])]
        run.save(update_fields=["runs"])
    return run


def _of_same_judge(draft: GradingRun) -> QuerySet[GradingRun]:
    """Runs of the same judge, prompt and rubric, the newest first."""
    return GradingRun.objects.filter(fingerprint=draft.fingerprint).order_by("-pk")


def can_resume(run: GradingRun) -> bool:
    """Whether it is over with answers left: new ones, or some at which the judge failed."""
    if run.is_open or run.generator not in JUDGES:
        return False
    return run.status != GradingRun.Status.FINISHED or targets.has_open(run)


def reopen(run: GradingRun) -> GradingRun:
    """Let it wait again, where something is left to be graded."""
    return leases.reopen(run, also_finished=True) if can_resume(run) else run


@transaction.atomic
def start(draft: GradingRun, by: User) -> GradingRun:
    """Store it, and have a worker do it; a form that was sent twice is one run, and so is what a run has said already."""
    Study.objects.select_for_update().get(pk=draft.study_id)
    same = newest_same(draft)
    if same is not None and (same.is_open or has_said_all(draft.generator, same)):
        return same
    draft.save()
    work.start(draft, by)
    return draft


@transaction.atomic
def resume(run: GradingRun, by: User) -> GradingRun:
    """Have a worker go on with it."""
    if can_resume(run):
        run = reopen(run)
        work.start(run, by)
    return run


def _check_judge(asked: Asked) -> None:
    if asked.generator not in JUDGES:
        raise ScoringError(f"“{asked.generator}” is no judge: choose one of {', '.join(JUDGES)}.")
    if asked.generator != Kind.EXACT:
        asked.check()
    elif asked.model_args:
        raise ScoringError("The exact-match judge takes no arguments.")


def _check_told(study: Study, asked: Asked) -> None:
    """What participants write goes to no other machine, unless the consent page says so."""
    if asked.generator != Kind.CHAT or study.answers_read_by:
        return
    if not parse_address(asked.model_args["base_url"]).is_here:
        raise ScoringError(
            "Participants were not told that a model on another server reads what they write: name it in the study's set-up "
            "(General) before they take part, or use a judge on this machine.",
            option="--people",
        )


def _judge(asked: Asked) -> LanguageModel | None:
    if asked.generator == Kind.EXACT:
        return None
    name = (
        asked.model_args["model"]
        if asked.generator == Kind.CHAT
        else default_name(asked.generator, asked.model_args)
    )
    return language_model(asked.generator, name)


def _numbers(study: Study, runs: Sequence[int] | None, models: Sequence[str]) -> list[int]:
    """Raises ScoringError where one is not the study's, or is under way: what it has yet to answer would be left out."""
    own = AnsweringRun.objects.filter(study=study)
    for name in models:
        if not own.filter(language_model__name=name).exists():
            raise ScoringError(f"“{name}” has answered nothing of this study.")
    if models:
        own = own.filter(language_model__name__in=models)
    if runs is None:
        over = own.exclude(status__in=AnsweringRun.OPEN_STATUSES).filter(answers__isnull=False)
        return sorted(set(over.values_list("pk", flat=True)))
    found = {run.pk: run for run in own.filter(pk__in=runs)}
    if missing := [number for number in runs if number not in found]:
        raise ScoringError(f"The study has no answering run {missing[0]}.")
    if still := [number for number in found if found[number].is_open]:
        raise ScoringError(f"Answering run {still[0]} is under way: grade it when it is over.")
    return sorted(found)
