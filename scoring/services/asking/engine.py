"""Asks a generator several questions at a time, within a budget. Only the caller's thread touches the database."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, ClassVar, Generic, TypeVar

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from experiment.models import Study
from experiment.services import work
from lib.jobs import leases
from lib.jobs.interrupts import held_back
from lib.jobs.leases import Lease, LeaseLostError, NoRightError, run_job
from scoring.backends.opening import open_generator
from scoring.domain.backend import NoAnswerError, ScoringError
from scoring.domain.generating import (
    BatchGenerator,
    Finish,
    Generated,
    Generator,
    Message,
    RemoteGenerator,
    Usage,
)
from scoring.models.answers import GeneratingJob, Kind, ModelAnswer
from scoring.services import servers
from scoring.services.asking.settings import (
    BudgetSpentError,
    Spending,
    most,
    newest_same,
    spending_of,
)

LOOK_S = 1.0
LIMIT_LOOK_S = 5.0  # how often a server's spending limit is looked up again
PATIENCE_S = 20.0  # with answers that are under way when a run is stopped
MOST_FAILURES = 10  # one after the other
FIRST_TEXTS = 20  # of which one can be read, or no more are asked for
SHOWN = 200  # characters of one that cannot
J = TypeVar("J", bound=GeneratingJob)


@dataclass(frozen=True)
class Question:
    """About the row of this number: the whole conversation, of which the answer's row keeps `new` turns.

    sample, wants_tokens: as in `Generator.generate`.
    """

    row: int
    messages: Sequence[Message]
    new: int
    schema: Mapping[str, Any] | None = None
    sample: int = 0
    wants_tokens: bool = False


# Stores an answer, and says what is to be asked next about the same row
OnAnswer = Callable[[Question, Generated], Question | None]
# What is asked in one go
Group = Sequence[Question]


class _Waiting:
    """Questions that are still to be asked: what follows an answer first, then the rest, taken from the iterator one by one."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self._first = deque[Question]()
        self._rest = iter(questions)

    def __bool__(self) -> bool:
        """True if there is a question, which is then held until it is taken."""
        self._first.extend(islice(self._rest, 0 if self._first else 1))
        return bool(self._first)

    @property
    def next(self) -> Question:
        return self._first[0]

    def take(self) -> Question:
        return self._first.popleft()

    def put_first(self, question: Question) -> None:
        self._first.appendleft(question)


def ask_all(
    generator: Generator,
    questions: Iterable[Question],
    on_answer: OnAnswer,
    spending: Spending,
    check: Callable[[], None],
    *,
    keep_failures: bool = False,
    sending: Callable[[int], None] = lambda n: None,
) -> None:
    """Ask until nothing is left. What is under way when an error comes is waited for and stored; it may cost money.

    Args:
        questions: an iterator is read by this thread, as far as questions are asked.
        check: called about once a second; after what it raises, answers that are under way are waited for, but not long.
        keep_failures: a question that alone cannot be answered has an answer, `Finish.FAILED`; else it is an error.
        sending: told how many requests are sent, before they are; of those that a generator sends again, within a second.
    Raises:
        BudgetSpentError: what is left may exceed the budget.
        ScoringError: the generator cannot go on.
    """
    waiting, under_way = _Waiting(questions), dict[Future[list[Generated]], Group]()
    failed: Exception | None = None
    told = 0

    def tell_resent() -> None:
        nonlocal told
        resent = generator.resent if isinstance(generator, RemoteGenerator) else 0
        if resent > told:
            sending(resent - told)
            told = resent

    with ThreadPoolExecutor(generator.concurrency) as threads:
        try:
            while under_way or (failed is None and waiting):
                with held_back():
                    while failed is None and (
                        group := _group(generator, waiting, under_way, spending)
                    ):
                        sending(len(group))
                        future = threads.submit(_answers, generator, group, keep_failures)
                        under_way[future] = group
                for future in wait(under_way, LOOK_S, FIRST_COMPLETED).done:
                    with held_back():
                        wrong = _keep(under_way.pop(future), future, on_answer, waiting)
                    failed = failed or wrong
                tell_resent()
                check()
        except BaseException as error:
            # Else another worker stores answers, or they would be stored for somebody who may not have them any more
            if not isinstance(error, LeaseLostError | NoRightError):
                _store_what_comes(under_way, on_answer, waiting)
                tell_resent()
            generator.close()  # else the threads would be waited for
            raise
    if failed is not None:
        raise failed


def _store_what_comes(
    under_way: dict[Future[list[Generated]], Group], on_answer: OnAnswer, waiting: _Waiting
) -> None:
    """Store what was sent and is answered soon; a second interruption ends that, too."""
    end = time.monotonic() + PATIENCE_S
    while under_way and (left := end - time.monotonic()) > 0:
        for future in wait(under_way, left, FIRST_COMPLETED).done:
            with held_back():
                _keep(under_way.pop(future), future, on_answer, waiting)


def _keep(
    group: Group, future: Future[list[Generated]], on_answer: OnAnswer, waiting: _Waiting
) -> Exception | None:
    """Have each answer stored; the first error, whatever comes after it."""
    first: Exception | None = None
    try:
        answers = future.result()
    except Exception as error:  # noqa: BLE001 (raised by the caller)
        return error
    for question, answer in zip(group, answers, strict=True):
        try:
            following = on_answer(question, answer)
            if following is not None:
                waiting.put_first(following)
        except Exception as error:  # noqa: BLE001 (raised by the caller)
            first = first or error
    return first


def _answers(generator: Generator, group: Group, keep_failures: bool) -> list[Generated]:
    if isinstance(generator, BatchGenerator) and len(group) > 1:
        return generator.generate_many([question.messages for question in group])
    began = time.monotonic()
    try:
        return [
            generator.generate(q.messages, q.schema, sample=q.sample, wants_tokens=q.wants_tokens)
            for q in group
        ]
    except NoAnswerError as error:
        if not keep_failures:
            raise
        seconds = time.monotonic() - began
        failed = Generated("", Finish.FAILED, None, seconds, detail=str(error), resent=error.resent)
        return [failed]


def _group(
    generator: Generator,
    waiting: _Waiting,
    under_way: Mapping[Future[list[Generated]], Group],
    spending: Spending,
) -> Group:
    """The next group to ask: as much as there is a place and, with all that is under way, money for.

    Raises:
        BudgetSpentError: nothing is under way, and the next question does not fit.
    """
    group: list[Question] = []
    if len(under_way) >= generator.concurrency:
        return group
    size = generator.batch if isinstance(generator, BatchGenerator) else 1
    # With hundreds under way, this sum for each question takes longer than the rest
    counted = chain(*under_way.values()) if spending.is_limited else ()
    asked = sum((_most(generator, q) for q in counted), Usage())
    while len(group) < size and waiting:
        next_ = _most(generator, waiting.next)
        asked += next_
        if not spending.fits(asked):
            break
        group.append(waiting.take())
    if waiting and not group and not under_way:
        most_needed = _most(generator, waiting.next)
        if spending.allowance is not None and not spending.allowance.fits(most_needed):
            raise BudgetSpentError(spending.allowance.refusal)
        raise BudgetSpentError(
            f"The budget does not allow another question: {spending.usage.total:,} tokens have been used, and the next "
            f"question may need {most_needed.total:,}."
        )
    return group


def _most(generator: Generator, question: Question) -> Usage:
    return most(question.messages, generator.max_tokens)


def stored(answer: Generated) -> dict[str, object]:
    """An answer as columns of `ModelAnswer`."""
    return {
        "text": answer.text,
        "thought": answer.thought,
        "finish": answer.finish.value,
        "detail": answer.detail,
        "model": answer.model[:200],
        "request": dict(answer.request),
        "prompt_tokens": answer.usage.prompt_tokens if answer.usage else None,
        "completion_tokens": answer.usage.completion_tokens if answer.usage else None,
        "thought_tokens": answer.usage.thought_tokens if answer.usage else None,
        "seconds": answer.seconds,
    }


def added_up(earlier: ModelAnswer, values: dict[str, Any]) -> dict[str, Any]:
    """Columns of an answer that takes an earlier one's place, or follows it: what both took, as both were paid for."""
    total = values | {"seconds": values["seconds"] + earlier.seconds}
    for name in ("prompt_tokens", "completion_tokens", "thought_tokens"):
        taken = (getattr(earlier, name), values[name])
        total[name] = None if taken == (None, None) else sum(n or 0 for n in taken)
    return total


class Asking(Generic[J]):
    """The work of a job that asks a model, for as long as one worker has it. A subclass says what is asked, and stores answers."""

    left: ClassVar[str]  # what is not asked yet, as sentences call it
    keep_failures = False  # as in `ask_all`

    def __init__(self, job: J, lease: Lease, on_progress: Callable[[J], None]) -> None:
        self.job, self.lease, self.on_progress = job, lease, on_progress
        self.spending = self.spent(job)
        self.looked_at = 0.0  # when the server's spending limit was looked up last
        self.failures = 0  # since the last answer
        self.n_read = self.n_unread = 0
        self.may_quote = True  # what the model said, in the job's error

    @classmethod
    def run(cls, job: J, on_progress: Callable[[J], None] = lambda job: None) -> J:
        """Ask, as a worker does; the row says how it went."""
        return run_job(
            job,
            lambda job, lease: cls(job, lease, on_progress).go_on(),
            expected=(ScoringError,),
        )

    @classmethod
    def can_resume(cls, job: J) -> bool:
        """True if it is over with questions left, or some that failed."""
        if job.is_open or job.generator == Kind.IMPORTED:
            return False
        has_failed = cls.answers(job).filter(finish=Finish.FAILED).exists()
        return job.status != GeneratingJob.Status.FINISHED or has_failed

    @classmethod
    def start(cls, draft: J, by: User) -> J:
        """Store it, and have a worker do it; a form that was sent twice is one run."""
        with transaction.atomic():
            Study.objects.select_for_update().get(pk=draft.study_id)  # type: ignore[attr-defined]
            if (same := newest_same(draft)) is not None and same.is_open:
                return same
            draft.save()
            work.start(draft, by)
        return draft

    @classmethod
    def reopen(cls, job: J) -> J:
        """Let it wait again, where something is left to be asked; what failed is asked again."""
        return leases.reopen(job, also_finished=True) if cls.can_resume(job) else job

    @classmethod
    def resume(cls, job: J, by: User) -> J:
        """Have a worker go on with it."""
        if cls.can_resume(job):
            with transaction.atomic():
                job = cls.reopen(job)
                work.start(job, by)
        return job

    @classmethod
    def spent(cls, job: J) -> Spending:
        return spending_of(job, cls.answers(job))

    @staticmethod
    def answers(job: Any) -> QuerySet[Any]:
        """Those that the model was paid for."""
        raise NotImplementedError

    @staticmethod
    def first_questions(job: Any) -> Iterable[Question]:
        """The questions of a stored run of which nothing is answered, as its worker asks them; without what depends on an answer."""
        raise NotImplementedError

    @classmethod
    def following(cls, job: J, question: Question, text: str) -> Question | None:
        """The question that follows every whole answer, whatever it says; None where there is none."""
        return None

    @staticmethod
    def earlier(job: Any) -> QuerySet[Any]:
        """Stored answers to such questions in runs with the settings of this one, without those that were asked for again."""
        raise NotImplementedError

    @staticmethod
    def is_written(job: Any) -> bool:
        """False where the answers are not written, but their probabilities are read off."""
        return True

    def go_on(self) -> None:
        """Ask what has no answer yet."""
        raise NotImplementedError

    def store(self, question: Question, answer: Generated) -> Question | None:
        """Keep an answer and the progress in one transaction, then `count` it; what is to be asked next about the same row."""
        raise NotImplementedError

    def begin(self, identity: Mapping[str, Any]) -> None:
        """Say who is asked."""
        self.lease.advance(identity=identity)

    def sending(self, n: int) -> None:
        """So many requests are about to be sent, or were sent again."""

    def check(self) -> None:
        """Ask whether to go on, as `Lease.check`; now and then, what other runs have left of the server's limit."""
        self.lease.check()
        if self.spending.allowance and time.monotonic() - self.looked_at > LIMIT_LOOK_S:
            self.spending.allowance = self.spending.allowance.again()
            self.looked_at = time.monotonic()

    def ask(self, questions: Iterable[Question]) -> None:
        self.spending.allowance = servers.begin(self.job, self.lease)
        self.looked_at = time.monotonic()
        generator = open_generator(self.job.generator, self.job.model_args)
        try:
            self.begin(generator.identity())
            ask_all(
                generator,
                questions,
                self.store,
                self.spending,
                self.check,
                keep_failures=self.keep_failures,
                sending=self.sending,
            )
        except BudgetSpentError as error:
            sentence = f"{error} {self.left} left: {self.job.total - self.job.done}."
            self.lease.end(GeneratingJob.Status.CANCELLED, sentence)
        finally:
            generator.close()

    def count(self, answer: Generated, *, is_read: bool | None = None) -> None:
        """Say that an answer is stored, and add up what it took.

        Args:
            is_read: whether it says what was asked for; None where that is not known yet.
        Raises:
            ScoringError: the model fails at one question after the other, or says nothing that can be read.
        """
        self.on_progress(self.job)
        has_failed = answer.finish == Finish.FAILED
        # What a failed one took is not known, and asks for no end where a budget is kept
        self.spending.add(Usage() if has_failed else answer.usage, answer.seconds)
        self.failures = self.failures + 1 if has_failed else 0
        if self.failures >= min(MOST_FAILURES, self.job.total) and has_failed:
            so_far = f" This happened to {self.failures} {self.left.lower()} in a row."
            raise ScoringError(answer.detail + (so_far if self.failures > 1 else ""))
        if is_read is None or has_failed:
            return
        self.n_read, self.n_unread = self.n_read + is_read, self.n_unread + (not is_read)
        if not self.n_read and self.n_unread == FIRST_TEXTS:
            said = _came_back(answer) if self.may_quote else "The received answers are stored."
            raise ScoringError(f"None of the first {FIRST_TEXTS} texts can be read. {said}")


def _came_back(answer: Generated) -> str:
    if answer.finish == Finish.THINKING:
        return (
            f"The last was an unfinished thought (“…{answer.thought[-SHOWN:]}”). Set a larger max_tokens, or "
            "enable_thinking=False if the model supports it."
        )
    said = answer.text.strip() or answer.detail
    return f"The last was “{said[:SHOWN]}”." if said else f"The last was {answer.finish.value}."
