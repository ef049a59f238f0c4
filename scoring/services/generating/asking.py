"""Asks a generator several questions at a time. Only the caller's thread touches the database."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from scoring.domain.generating import Generated, Generator, Message, Usage
from scoring.services.generating.spending import BudgetSpentError, Spending, most

LOOK_S = 1.0


@dataclass(frozen=True)
class Question:
    """About the row of this number: the whole conversation, of which the answer's row keeps `new` turns."""

    row: int
    messages: Sequence[Message]
    new: int
    schema: Mapping[str, Any] | None = None


# Stores an answer, and says what is to be asked next about the same row
OnAnswer = Callable[[Question, Generated], Question | None]


def ask_all(
    generator: Generator,
    questions: Iterable[Question],
    on_answer: OnAnswer,
    spending: Spending,
    check: Callable[[], None],
) -> None:
    """Ask until nothing is left. What is under way when an error comes is waited for and stored; it may cost money.

    Args:
        check: called about once a second; what it raises ends all at once.
    Raises:
        BudgetSpentError: what is left may exceed the budget.
        ScoringError: the generator cannot go on.
    """
    waiting, under_way = deque(questions), dict[Future[Generated], Question]()
    failed: Exception | None = None
    with ThreadPoolExecutor(generator.concurrency) as threads:
        try:
            while under_way or (waiting and failed is None):
                while failed is None and _may_begin(generator, waiting, under_way, spending):
                    question = waiting.popleft()
                    future = threads.submit(generator.generate, question.messages, question.schema)
                    under_way[future] = question
                for future in wait(under_way, LOOK_S, FIRST_COMPLETED).done:
                    question = under_way.pop(future)
                    try:
                        following = on_answer(question, future.result())
                    except Exception as error:  # noqa: BLE001 (raised below)
                        failed = failed or error
                        continue
                    if following is not None:
                        waiting.appendleft(following)
                check()
        except BaseException:
            generator.close()  # else the threads would be waited for
            raise
    if failed is not None:
        raise failed


def _may_begin(
    generator: Generator,
    waiting: Sequence[Question],
    under_way: Mapping[Future[Generated], Question],
    spending: Spending,
) -> bool:
    """Whether there is a place and, with all that is under way, money for the next question.

    Raises:
        BudgetSpentError: nothing is under way, and the next question does not fit.
    """
    if not waiting or len(under_way) >= generator.concurrency:
        return False
    asked = [*under_way.values(), waiting[0]]
    expected = [most(question.messages, generator.max_tokens) for question in asked]
    if spending.fits(sum(expected, Usage())):
        return True
    if not under_way:
        raise BudgetSpentError(
            f"The budget does not allow another question: {spending.usage.total:,} tokens are used, and the next may take "
            f"{expected[-1].total:,}."
        )
    return False


def stored(answer: Generated) -> dict[str, object]:
    """An answer as columns of `ModelAnswer`."""
    return {
        "text": answer.text,
        "finish": answer.finish.value,
        "detail": answer.detail,
        "model": answer.model[:200],
        "request": dict(answer.request),
        "prompt_tokens": answer.usage.prompt_tokens if answer.usage else None,
        "completion_tokens": answer.usage.completion_tokens if answer.usage else None,
        "seconds": answer.seconds,
    }
