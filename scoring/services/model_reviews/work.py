"""The work of a reviewing run: one question for each test case, each answer stored as it comes."""

from collections.abc import Callable
from dataclasses import asdict

from django.db import transaction

from experiment.models import Item
from lib.jobs.leases import Lease
from lib.jobs.running import run_job
from scoring.backends.generating import open_generator
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Generated
from scoring.domain.reviewing import SCHEMA, read_verdict
from scoring.models import ModelReview, ReviewingRun
from scoring.services.drafting.prompts import opening
from scoring.services.generating.asking import Question, ask_all, stored
from scoring.services.generating.spending import BudgetSpentError, Spending, spending_of
from scoring.services.model_reviews.ask import default_instructions

OnProgress = Callable[[ReviewingRun], None]


def run(job: ReviewingRun, on_progress: OnProgress = lambda job: None) -> ReviewingRun:
    """Review, as a worker does; the row says how it went."""

    def work(job: ReviewingRun, lease: Lease) -> None:
        _Reviewing(job, lease, on_progress).go_on()

    return run_job(job, work, expected=(ScoringError,))


def spent(job: ReviewingRun) -> Spending:
    return spending_of(job, job.reviews.all())


class _Reviewing:
    def __init__(self, job: ReviewingRun, lease: Lease, on_progress: OnProgress) -> None:
        self.job, self.lease, self.on_progress = job, lease, on_progress
        done = set(job.reviews.values_list("item", flat=True))
        self.items = Item.objects.in_bulk([pk for pk in job.items if pk not in done])
        self.spending = spent(job)
        self.schema = SCHEMA if job.instructions == default_instructions() else None

    def go_on(self) -> None:
        self.job.total = self.job.reviews.count() + len(self.items)
        self.lease.advance(total=self.job.total)
        if not self.items:
            return
        generator = open_generator(self.job.generator, self.job.model_args)
        try:
            self.lease.advance(identity=generator.identity())
            questions = [self._question(item) for item in self.items.values()]
            ask_all(generator, questions, self._store, self.spending, self.lease.check)
        except BudgetSpentError as error:
            n = self.job.total - self.job.reviews.count()
            sentence = f"{error} Test cases left: {n}."
            self.lease.end(ReviewingRun.Status.CANCELLED, sentence)
        finally:
            generator.close()

    def _question(self, item: Item) -> Question:
        turns = opening(self.job.instructions, self.job.field, item.subfield, item.markup)
        return Question(item.pk, turns, len(turns), self.schema)

    def _store(self, question: Question, answer: Generated) -> None:
        item = self.items[question.row]
        found = read_verdict(answer.text)
        with transaction.atomic():
            ModelReview.objects.create(
                run=self.job,
                item=item,
                sha256=item.sha256,
                verdict=found.verdict if found else "",
                reasons=found.reasons if found else "",
                messages=[asdict(message) for message in question.messages],
                **stored(answer),
            )
            self.job.done = self.job.reviews.count()
            self.lease.advance(done=self.job.done)
        self.on_progress(self.job)
        self.spending.add(answer.usage, answer.seconds)
