"""The work of a drafting run: ask, check, have it mended, store. Every answer is stored as it comes.

A run that is taken up again reads its answers from the database: no question is asked twice whose answer is stored.
"""

from collections.abc import Callable
from dataclasses import asdict, replace

from django.core.exceptions import ValidationError
from django.db import transaction

from experiment.domain.item_checks import Finding, Level
from experiment.services.curation import drafts as drafts_service
from lib.jobs.leases import Lease
from lib.jobs.running import run_job
from scoring.backends.generating import open_generator
from scoring.domain.backend import ScoringError
from scoring.domain.drafting import SCHEMA, marked_text
from scoring.domain.generating import Finish, Generated, Message
from scoring.models import DraftAttempt, DraftingRun, GeneratedDraft
from scoring.services.drafting import judging, prompts
from scoring.services.generating.asking import Question, ask_all, stored
from scoring.services.generating.spending import BudgetSpentError, Spending, spending_of

State = GeneratedDraft.State
NO_ANSWER = "(no answer)"
OnProgress = Callable[[DraftingRun], None]


def run(job: DraftingRun, on_progress: OnProgress = lambda job: None) -> DraftingRun:
    """Draft, as a worker does; the row says how it went."""

    def work(job: DraftingRun, lease: Lease) -> None:
        _Drafting(job, lease, on_progress).go_on()

    return run_job(job, work, expected=(ScoringError,))


def spent(job: DraftingRun) -> Spending:
    return spending_of(job, DraftAttempt.objects.filter(draft__run=job))


class _Drafting:
    def __init__(self, job: DraftingRun, lease: Lease, on_progress: OnProgress) -> None:
        self.job, self.lease, self.on_progress = job, lease, on_progress
        waiting = job.drafts.filter(state=State.WAITING).order_by("row")
        self.drafts = {draft.row: draft for draft in waiting}
        for draft in self.drafts.values():
            draft.run = job
        self.spending = spent(job)
        # A lab's own instructions say themselves what an answer looks like
        is_default = job.instructions == prompts.default_instructions()
        self.schema = SCHEMA if is_default else None

    def go_on(self) -> None:
        questions = [q for draft in self.drafts.values() if (q := self._next_question(draft))]
        self._advance(total=self.job.drafts.count())
        if not questions:
            return
        generator = open_generator(self.job.generator, self.job.model_args)
        try:
            self._advance(identity=generator.identity())
            ask_all(generator, questions, self._store, self.spending, self.lease.check)
        except BudgetSpentError as error:
            n = self.job.drafts.filter(state=State.WAITING).count()
            sentence = f"{error} Abstracts left: {n}."
            self.lease.end(DraftingRun.Status.CANCELLED, sentence)
        finally:
            generator.close()

    def _store(self, question: Question, answer: Generated) -> Question | None:
        """Keep an answer, and what follows from it, in one transaction."""
        draft = self.drafts[question.row]
        with transaction.atomic():
            self._attempt(draft, question, answer)
            following = self._next_question(draft)
            self._advance()
        self.spending.add(answer.usage, answer.seconds)
        return following

    def _attempt(self, draft: GeneratedDraft, question: Question, answer: Generated) -> None:
        findings = judging.judge(draft, answer.text, answer.finish)
        DraftAttempt.objects.create(
            draft=draft,
            number=draft.attempts.count() + 1,
            messages=[asdict(m) for m in question.messages[-question.new :]],
            problems=[asdict(replace(f, place=None)) for f in findings],
            **stored(answer),
        )

    def _next_question(self, draft: GeneratedDraft) -> Question | None:
        """What is to be asked now; None once the draft is settled."""
        attempts = list(draft.attempts.all())
        if not attempts:
            turns = prompts.opening(
                self.job.instructions, self.job.field, draft.subfield, draft.abstract
            )
            return Question(draft.row, turns, len(turns), self.schema)
        last = attempts[-1]
        wrong = judging.to_mend(last.findings)
        if last.finish not in judging.FINAL and wrong and len(attempts) <= self.job.repairs:
            turns = [turn for attempt in attempts for turn in _turns(attempt)]
            return Question(draft.row, [*turns, prompts.repair(wrong)], 1, self.schema)
        self._settle(draft, attempts)
        return None

    def _settle(self, draft: GeneratedDraft, attempts: list[DraftAttempt]) -> None:
        """Make a draft of the best answer; what has errors left is kept for a person to decide on."""
        if attempts[-1].finish in judging.FINAL and len(attempts) == 1:
            draft.state = State.DECLINED
        else:
            chosen = judging.best([a for a in attempts if a.finish not in judging.FINAL])
            draft.markup = marked_text(chosen.text) if chosen.finish == Finish.STOP else ""
            draft.state = State.UNREPAIRED
            if not judging.has_errors(chosen.findings):
                self._create_item(draft, chosen)
        draft.save(update_fields=["state", "markup", "item"])

    def _create_item(self, draft: GeneratedDraft, attempt: DraftAttempt) -> None:
        """A draft that nobody has written: whoever asked for it may review it."""
        try:
            with transaction.atomic():
                draft.item = drafts_service.create(
                    self.job.field,
                    draft.markup,
                    by=None,
                    reason=f"drafting run {self.job.pk}, row {draft.row}",
                    source="machine",
                    generator=(attempt.model or self.job.model_name)[:80],
                    subfield=draft.subfield,
                    doi=draft.doi,
                    publication_date=draft.publication_date,
                )
            draft.state = State.DRAFTED
        except ValidationError as error:
            refused = Finding("refused", Level.ERROR, " ".join(error.messages))
            attempt.problems.append(asdict(refused))
            attempt.save(update_fields=["problems"])

    def _advance(self, **changes: object) -> None:
        done = self.job.drafts.exclude(state=State.WAITING).count()
        self.lease.advance(done=done, **changes)
        self.job.done = done
        self.on_progress(self.job)


def _turns(attempt: DraftAttempt) -> list[Message]:
    asked = [Message(turn["role"], turn["content"]) for turn in attempt.messages]
    return [*asked, Message("assistant", attempt.text.strip() or NO_ANSWER)]
