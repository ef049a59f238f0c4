"""The common part of jobs that ask a model: which model, what it may cost, what it has spent."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db.models import Count, Q, QuerySet, Sum

from scoring.backends.opening import check_generator_args, check_server
from scoring.backends.registry import Place, place_of
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Message, Prices, Usage
from scoring.models.answers import GeneratingJob, ModelAnswer
from scoring.services import servers

# How fast and how often a model is asked: it writes the same
PACE = frozenset({"concurrency", "timeout", "retry_seconds", "tries", "batch_size"})


@dataclass(frozen=True)
class Asked:
    """A model and what it may cost: prices of a million tokens, budgets of the whole job."""

    generator: str
    model_args: Mapping[str, str]
    prompt_price: Decimal | None = None
    completion_price: Decimal | None = None
    budget_tokens: int | None = None
    budget_money: Decimal | None = None

    def with_defaults(self, defaults: Mapping[Place, Mapping[str, str]]) -> "Asked":
        """With what holds where nothing is said, by the model's place; "none" leaves a number to the server.

        >>> Asked("chat", {"temperature": "none"}).with_defaults({Place.SERVER: {"temperature": "0", "tries": "3"}}).model_args
        {'tries': '3'}
        """
        place = place_of(self.generator)
        args = {**(defaults.get(place, {}) if place else {}), **self.model_args}
        return replace(self, model_args={n: value for n, value in args.items() if value != "none"})

    def check(self) -> None:
        """Refuse what cannot be meant, before anything is stored.

        Raises:
            ScoringError: one sentence on what is wrong.
        """
        check_generator_args(self.generator, self.model_args)
        check_server(self.generator, self.model_args)
        has_prices = [self.prompt_price is not None, self.completion_price is not None]
        if any(has_prices) and not all(has_prices):
            raise ScoringError(
                "Give both prices, for tokens read and for tokens written, or neither."
            )
        if self.budget_money is not None and not all(has_prices):
            raise ScoringError("A budget in money needs the prices of tokens.")

    def columns(self, instructions: str, by: User | None) -> dict[str, Any]:
        """For a row of `GeneratingJob`.

        Raises:
            ScoringError: this person may not use the model's server.
        """
        server = servers.checked(self.generator, self.model_args, by)
        told = {"instructions": instructions, "created_by": by, "server": server}
        return {**asdict(self), "model_args": dict(self.model_args), **told}

    def fingerprint(self, *others: Any) -> str:
        """The same for the same texts; what they may cost may differ, and how fast and how often the model is asked."""
        writing = sorted(item for item in self.model_args.items() if item[0] not in PACE)
        known = [self.generator, writing, *others]
        return hashlib.sha256(json.dumps(known, default=str).encode()).hexdigest()


A = TypeVar("A", bound=ModelAnswer)
J = TypeVar("J", bound=GeneratingJob)
# The server said what an answer took
IS_KNOWN = Q(prompt_tokens__isnull=False, completion_tokens__isnull=False)
MUCH_UNREAD = 0.05
ANY_FIELD = "science"  # of a study without a field
BYTES_PER_TOKEN = 3  # few tokenizers make more tokens of a text than this


def newest_same(draft: J) -> J | None:
    """The newest stored run of the same model, instructions and settings; what it is about may have changed since."""
    same = type(draft)._default_manager.filter(fingerprint=draft.fingerprint)
    return same.order_by("-pk").first()


class BudgetSpentError(Exception):
    """The next question may exceed the budget, or a server's spending limit; the message is a sentence."""


@dataclass
class Spending:
    """Tokens, money and time so far. `unknown`: answers of which the server did not say what they took.

    allowance: what may still be spent at the server this month, by this and other runs.
    """

    budget_tokens: int | None = None
    budget_money: Decimal | None = None
    prices: Prices | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    answers: int = 0
    unknown: int = 0
    allowance: servers.Allowance | None = None

    @property
    def cost(self) -> Decimal | None:
        return self.prices.cost(self.usage) if self.prices else None

    @property
    def is_limited(self) -> bool:
        budgets = (self.budget_tokens, self.budget_money, self.allowance)
        return any(budget is not None for budget in budgets)

    def add(self, usage: Usage | None, seconds: float) -> None:
        """Count an answer.

        Raises:
            ScoringError: there is a budget, and nobody says what the answer took of it.
        """
        self.answers += 1
        self.seconds += seconds
        if usage is not None:
            self.usage += usage
            if self.allowance is not None:
                self.allowance.take(usage)
            return
        self.unknown += 1
        if self.is_limited:
            raise ScoringError(
                "The server does not report how many tokens it read and wrote, so a budget is not possible."
            )

    def fits(self, more: Usage) -> bool:
        """True if the budget and the server's limit allow that much more."""
        if self.allowance is not None and not self.allowance.fits(more):
            return False
        whole = self.usage + more
        if self.budget_tokens is not None and whole.total > self.budget_tokens:
            return False
        if self.budget_money is None or self.prices is None:
            return True
        return self.prices.cost(whole) <= self.budget_money


@dataclass(frozen=True, slots=True)
class Unread:
    """The texts of a run that do not say what was asked for."""

    n: int
    of: int

    @property
    def share(self) -> float:
        return self.n / self.of if self.of else 0.0

    @property
    def is_much(self) -> bool:
        """So that what could be read may be no fair sample.

        >>> Unread(5, 100).is_much, Unread(6, 100).is_much
        (False, True)
        """
        return self.share > MUCH_UNREAD


def spending_of(job: GeneratingJob, answers: QuerySet[A]) -> Spending:
    """The spending that is stored, however much it is: the database adds it up."""
    found = answers.order_by().aggregate(
        read=Sum("prompt_tokens", filter=IS_KNOWN, default=0),
        written=Sum("completion_tokens", filter=IS_KNOWN, default=0),
        thought=Sum("thought_tokens", filter=IS_KNOWN, default=0),
        seconds=Sum("seconds", default=0.0),
        answers=Count("pk"),
        known=Count("pk", filter=IS_KNOWN),
    )
    return Spending(
        budget_tokens=job.budget_tokens,
        budget_money=job.budget_money,
        prices=job.prices,
        usage=Usage(found["read"], found["written"], found["thought"]),
        seconds=found["seconds"],
        answers=found["answers"],
        unknown=found["answers"] - found["known"],
    )


def most(messages: Sequence[Message], max_tokens: int) -> Usage:
    """The most that a question is expected to take."""
    n_bytes = sum(len(message.content.encode()) for message in messages)
    return Usage(n_bytes // BYTES_PER_TOKEN + 1, max_tokens)
