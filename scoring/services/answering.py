"""Use case: a model is asked a study's questions: each once, and each answer is stored as it comes.

What is wrong with an answer is a state of it, and ends no run. A run that is taken up again asks what has no answer stored,
and again what failed.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, QuerySet
from django.template.loader import render_to_string
from django.utils import timezone

from experiment.models import Item, Study
from experiment.services import work
from lib.jobs import leases
from lib.jobs.leases import Lease
from lib.jobs.running import run_job
from scoring.backends.generating import open_generator
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish, Generated, Message, Usage
from scoring.models import Answer, AnsweringRun
from scoring.services.asking.engine import Question, ask_all, stored
from scoring.services.asking.settings import Asked, BudgetSpentError, Spending, spending_of
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


OnProgress = Callable[[AnsweringRun], None]
CHUNK = 100  # questions in memory
MOST_FAILURES = 10  # one after the other


def run(job: AnsweringRun, on_progress: OnProgress = lambda job: None) -> AnsweringRun:
    """Have the questions answered, as a worker does; the row says how it went."""

    def work(job: AnsweringRun, lease: Lease) -> None:
        _Answering(job, lease, on_progress).go_on()

    return run_job(job, work, expected=(ScoringError,))


def spent(job: AnsweringRun) -> Spending:
    return spending_of(job, job.answers.all())


class _Answering:
    def __init__(self, job: AnsweringRun, lease: Lease, on_progress: OnProgress) -> None:
        self.job, self.lease, self.on_progress = job, lease, on_progress
        self.kept = job.answers.exclude(finish=Finish.FAILED)
        self.spending = spent(job)
        self.failures = 0  # since the last answer
        self.job.done = self.kept.count()

    def go_on(self) -> None:
        self.lease.write(total=len(self.job.items), done=self.job.done)
        if self.job.done >= len(self.job.items):
            return
        generator = open_generator(self.job.generator, self.job.model_args)
        try:
            self._begin(generator.identity())
            check = self.lease.check
            ask_all(generator, self._questions(), self._store, self.spending, check, keep_failures=True)  # fmt: skip
        except BudgetSpentError as error:
            sentence = f"{error} Questions left: {len(self.job.items) - self.job.done}."
            self.lease.end(AnsweringRun.Status.CANCELLED, sentence)
        finally:
            generator.close()

    def _begin(self, identity: Mapping[str, Any]) -> None:
        """Say who answers; who goes on must be who began."""
        now, begun = json.loads(json.dumps(identity, default=str)), self.job.identity
        if begun and begun != now and self.kept.exists():
            other = sorted(n for n in begun.keys() | now.keys() if begun.get(n) != now.get(n))
            raise ScoringError(
                f"The model is not what this run began with ({', '.join(other)}): begin another run."
            )
        self.lease.write(identity=now)

    def _questions(self) -> Iterator[Question]:
        """In the run's order, read as they are asked."""
        system = Message("system", self.job.instructions)
        left = iter(self.job.items)
        while chunk := list(islice(left, CHUNK)):
            done = set(self.kept.filter(item__in=chunk).values_list("item", flat=True))
            todo = [pk for pk in chunk if pk not in done]
            texts = dict(Item.objects.filter(pk__in=todo).values_list("pk", "markup"))
            for pk in (pk for pk in todo if pk in texts):
                turns = [system, Message("user", texts[pk])]
                yield Question(pk, turns, len(turns))

    def _store(self, question: Question, answer: Generated) -> None:
        """Keep an answer and the progress in one transaction; the turns before it are the run's and the question's."""
        has_failed = answer.finish == Finish.FAILED
        with transaction.atomic():
            self.lease.advance(done=self.job.done + 1)
            columns = stored(answer) | {"raw": answer.raw, "at": timezone.now()}
            # What failed keeps its row: judges' and people's grades are of it
            Answer.objects.update_or_create(columns, run=self.job, item_id=question.row)
        self.job.done += 1
        self.on_progress(self.job)
        # What a failed one took is not known, and asks for no end where a budget is kept
        self.spending.add(Usage() if has_failed else answer.usage, answer.seconds)
        self.failures = self.failures + 1 if has_failed else 0
        if self.failures >= min(MOST_FAILURES, len(self.job.items)):
            so_far = f" So it was with {self.failures} questions in a row."
            raise ScoringError(answer.detail + (so_far if self.failures > 1 else ""))


def counted(runs: Collection[AnsweringRun], questions: QuerySet[Item]) -> list[AnsweringRun]:
    """Of each model's runs with an answer one: no simulated one before a real one, most of the questions, the newest.

    Args:
        runs: that are over.
        questions: of the study.
    """
    rows = Answer.objects.filter(run__in=[run.pk for run in runs], item__in=questions.values("pk"))
    n: dict[Any, int] = dict(rows.order_by().values_list("run").annotate(n=Count("pk")))
    best: dict[int, AnsweringRun] = {}
    for run in sorted(runs, key=lambda run: (not run.is_simulated, n.get(run.pk, 0), run.pk)):
        if run.pk in n:
            best[run.language_model_id] = run
    return list(best.values())
