"""The work of an answering run: each question is asked once, each answer stored as it comes.

A run that is taken up again asks what has no answer stored, and again what failed.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from django.db import transaction
from django.utils import timezone

from experiment.models import Item
from lib.jobs.leases import Lease
from lib.jobs.running import run_job
from scoring.backends.generating import open_generator
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish, Generated, Message, Usage
from scoring.models import Answer, AnsweringRun
from scoring.services.generating.asking import Question, ask_all, stored
from scoring.services.generating.spending import BudgetSpentError, Spending, spending_of

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
