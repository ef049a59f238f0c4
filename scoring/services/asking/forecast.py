"""A forecast of what a run will take, before anything is asked: of choices, answers, grades, drafts and reviews alike."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Avg, Count, Q, Sum

from scoring.backends.options import read_number, read_writing
from scoring.backends.registry import Place, place_of
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Usage
from scoring.services import servers
from scoring.services.asking.counting import N_ASKED, Counted, count_by_asking
from scoring.services.asking.engine import Asking, J, Question
from scoring.services.asking.settings import IS_KNOWN, most

CONCURRENCY = 4  # requests at a time, where nothing is said


@dataclass(frozen=True, slots=True)
class Forecast:
    """requests: those that certainly come. What cannot be read, or is to be corrected, is asked for again, and comes on top.
    usage: the most that they take, by a rough count of the tokens read.

    cost: None without prices. seconds: by what the model took before in such a run, or now; None where nobody knows.
    expected: of all requests, by what some took: `n_counted` questions were asked for this, or are stored; None where nobody
    knows.
    """

    model: str
    requests: int
    usage: Usage
    cost: Decimal | None
    seconds: float | None
    n_counted: int = 0
    expected: Usage | None = None
    expected_cost: Decimal | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "requests": self.requests,
            "prompt_tokens": self.usage.prompt_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "cost": None if self.cost is None else float(self.cost),
            "seconds": self.seconds,
            "n_counted": self.n_counted,
            "expected_prompt_tokens": self.expected.prompt_tokens if self.expected else None,
            "expected_completion_tokens": self.expected.completion_tokens
            if self.expected
            else None,
            "expected_cost": None if self.expected_cost is None else float(self.expected_cost),
        }

    def cells(self) -> dict[str, str]:
        """As a table shows it."""
        return {
            "model": self.model,
            "requests": f"{self.requests:,}",
            "read": f"{self.usage.prompt_tokens:,}",
            "written": f"{self.usage.completion_tokens:,}",
            "cost": "" if self.cost is None else f"{self.cost:,.4f}",
            "expected": "" if self.expected is None else f"{self.expected.total:,}",
            "expected_cost": "" if self.expected_cost is None else f"{self.expected_cost:,.4f}",
            "minutes": "" if self.seconds is None else f"{self.seconds / 60:,.1f}",
        }


def forecast(asking: type[Asking[J]], make: Callable[[], J], *, asks: bool = False) -> Forecast:
    """The most that a run will read and write. Nothing stays of the draft, such as the row of a model with a new name.

    Args:
        make: the run, stored with all that its questions are about, or not stored.
        asks: five of its questions are asked now, so that their tokens are counted by who bills them.
    Raises:
        ScoringError: of `make`, or of the model; or a spending limit does not allow five questions.
    """
    usage, n, requests = Usage(), 0, 0
    chosen = list[Question]()
    with transaction.atomic():
        draft = make()
        if draft.pk is None:
            draft.save()
        is_written = asking.is_written(draft)
        max_tokens = read_writing(draft.model_args).max_tokens if is_written else 0
        spread = {draft.total * i // N_ASKED for i in range(N_ASKED)}
        for place, question in enumerate(asking.first_questions(draft)):
            n, requests = n + 1, requests + 1
            usage += most(question.messages, max_tokens)
            if (second := asking.following(draft, question, "")) is not None:
                requests += 1
                usage += Usage(max_tokens) + most(second.messages, max_tokens)
            if place in spread:
                chosen.append(question)
        earlier = asking.earlier(draft).aggregate(
            n=Count("pk", filter=IS_KNOWN),
            read=Sum("prompt_tokens", filter=IS_KNOWN, default=0),
            written=Sum("completion_tokens", filter=IS_KNOWN, default=0),
            seconds=Avg("seconds", filter=Q(seconds__gt=0)),
        )
        transaction.set_rollback(True)

    counted, pace_s = Counted(0, Usage()), earlier["seconds"]
    if is_written:
        counted = Counted(earlier["n"], Usage(earlier["read"], earlier["written"]))
    if asks and is_written and chosen:
        allowance = servers.allowance(draft.server)
        five = sum((most(question.messages, max_tokens) for question in chosen), Usage())
        if allowance is not None and not allowance.fits(five):
            raise ScoringError(allowance.refusal)

        def following(question: Question, text: str) -> Question | None:
            return asking.following(draft, question, text)

        counted = count_by_asking(draft.generator, draft.model_args, chosen, following)
        pace_s = counted.seconds / counted.n
    at_once = 1
    if is_written and place_of(draft.generator) == Place.SERVER:
        at_once = int(read_number(draft.model_args, "concurrency", CONCURRENCY, 1, 10**6))
    model, expected = getattr(draft, "language_model", None), counted.of(n)
    return Forecast(
        model=model.name if model else draft.model_name,
        requests=requests,
        usage=usage,
        cost=draft.prices.cost(usage) if draft.prices else None,
        seconds=None if pace_s is None else n * pace_s / at_once,
        n_counted=counted.n,
        expected=expected,
        expected_cost=draft.prices.cost(expected) if draft.prices and expected else None,
    )
