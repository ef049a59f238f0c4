"""A forecast of what a run of choices will take, before anything is asked."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Avg, Count, QuerySet, Sum

from scoring.backends.registry import Place, place_of
from scoring.domain.choosing.reading import SCHEMA, SIDES
from scoring.domain.generating import Usage
from scoring.models import ChoiceRun, ModelChoice
from scoring.models.counting import counts_in
from scoring.services.asking.counting import Counted, count_by_asking
from scoring.services.asking.settings import IS_KNOWN, most
from scoring.services.choosing import prompts
from scoring.services.choosing.runs import DEFAULTS, abstracts

CONCURRENCY = 4  # requests at a time, where nothing is said


@dataclass(frozen=True, slots=True)
class Forecast:
    """requests: one a question; a text that is no choice is asked for once more. usage: the most that they take, by a
    rough count of the tokens read; second questions come on top.

    cost: None without prices. seconds: by what the model took here before, None where it has answered nothing.
    expected: of all requests, by what some took: `n_counted` were asked for this, or are stored; None where nobody knows.
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


def forecast(make: Callable[[], ChoiceRun], *, asks: bool = False) -> Forecast:
    """The most that a run will read and write. Nothing stays of the draft, such as the row of a model with a new name.

    Args:
        asks: five of its questions are asked now, so that their tokens are counted by who bills them.
    Raises:
        ScoringError: of `make`, or of the model.
    """
    with transaction.atomic():
        draft = make()
        # By its pace so far, of answers in the same form
        earlier = ModelChoice.objects.filter(
            counts_in([draft.study], "run__"),
            run__language_model=draft.language_model_id,
            run__form=draft.form,
            seconds__gt=0,
        )
        mean = earlier.aggregate(mean=Avg("seconds"))["mean"]
        counted = Counted(0, Usage())
        if draft.form != ChoiceRun.Form.LIKELIHOOD:
            same = earlier.filter(IS_KNOWN, run__fingerprint=draft.fingerprint, tries=1)
            counted = _stored(same)
        transaction.set_rollback(True)

    is_written = draft.form != ChoiceRun.Form.LIKELIHOOD
    args = draft.model_args
    place = place_of(draft.generator)
    of_place = DEFAULTS.get(place, {}).get("max_tokens", "1") if place else "1"
    max_tokens = int(float(args.get("max_tokens", of_place))) if is_written else 0
    examples = list(abstracts(draft.examples).values())
    usage = Usage()
    conversations = []
    for text in abstracts(draft.items).values():
        for side in SIDES:
            conversations.append(prompts.conversation(draft, examples, text, side))
            asked = most(conversations[-1], max_tokens)
            for _ in range(draft.samples):
                usage += asked
    if asks and is_written:
        schema = SCHEMA if draft.form == ChoiceRun.Form.WRITTEN else None
        counted = count_by_asking(draft.generator, args, conversations, schema)
    expected = counted.of(draft.total)
    at_once = 1
    if is_written and place == Place.SERVER:
        at_once = int(float(args.get("concurrency", CONCURRENCY)))
    return Forecast(
        model=draft.language_model.name,
        requests=draft.total,
        usage=usage,
        cost=draft.prices.cost(usage) if draft.prices else None,
        seconds=None if mean is None else draft.total * mean / at_once,
        n_counted=counted.n,
        expected=expected,
        expected_cost=draft.prices.cost(expected) if draft.prices and expected else None,
    )


def _stored(choices: QuerySet[ModelChoice]) -> Counted:
    """The tokens of answers in the same form that are stored."""
    found = choices.aggregate(
        n=Count("pk"),
        read=Sum("prompt_tokens", default=0),
        written=Sum("completion_tokens", default=0),
    )
    return Counted(found["n"], Usage(found["read"], found["written"]))
