"""What a job has spent on a model, and whether another question fits into its budget."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from scoring.domain.backend import ScoringError
from scoring.domain.generating import Message, Prices, Usage
from scoring.models.generating import ModelAnswer, WritingJob

# Columns of an answer that say what it took
COUNTED = ("prompt_tokens", "completion_tokens", "seconds")
BYTES_PER_TOKEN = 3  # few tokenizers make more tokens of a text than this


class BudgetSpentError(Exception):
    """The next question may exceed the budget; the message is a sentence."""


@dataclass
class Spending:
    """Tokens, money and time so far. `unknown`: answers of which the server did not say what they took."""

    budget_tokens: int | None = None
    budget_money: Decimal | None = None
    prices: Prices | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    answers: int = 0
    unknown: int = 0

    @property
    def cost(self) -> Decimal | None:
        return self.prices.cost(self.usage) if self.prices else None

    @property
    def is_limited(self) -> bool:
        return self.budget_tokens is not None or self.budget_money is not None

    def add(self, usage: Usage | None, seconds: float) -> None:
        """Count an answer.

        Raises:
            ScoringError: there is a budget, and nobody says what the answer took of it.
        """
        self.answers += 1
        self.seconds += seconds
        if usage is not None:
            self.usage += usage
            return
        self.unknown += 1
        if self.is_limited:
            raise ScoringError(
                "The server does not say how many tokens it read and wrote, so that no budget can be kept."
            )

    def fits(self, more: Usage) -> bool:
        """Whether the budget allows that much more."""
        whole = self.usage + more
        if self.budget_tokens is not None and whole.total > self.budget_tokens:
            return False
        if self.budget_money is None or self.prices is None:
            return True
        return self.prices.cost(whole) <= self.budget_money


def spending_of(job: WritingJob, answers: Iterable[ModelAnswer]) -> Spending:
    """Of what is stored."""
    spending = Spending(prices=job.prices)
    for answer in answers:
        spending.add(answer.usage, answer.seconds)
    spending.budget_tokens, spending.budget_money = job.budget_tokens, job.budget_money
    return spending


def most(messages: Sequence[Message], max_tokens: int) -> Usage:
    """The most that a question is expected to take."""
    n_bytes = sum(len(message.content.encode()) for message in messages)
    return Usage(n_bytes // BYTES_PER_TOKEN + 1, max_tokens)
