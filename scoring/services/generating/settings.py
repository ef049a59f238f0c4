"""The settings that every job has which asks a model: checked, and turned into what a row holds."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User

from scoring.backends.generating import check_generator_args
from scoring.domain.backend import ScoringError

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

    def check(self) -> None:
        """Refuse what cannot be meant, before anything is stored.

        Raises:
            ScoringError: one sentence on what is wrong.
        """
        check_generator_args(self.generator, self.model_args)
        if self.generator == "chat":
            from scoring.backends.http.hosts import allowed_address

            allowed_address(self.model_args["base_url"])
        has_prices = [self.prompt_price is not None, self.completion_price is not None]
        if any(has_prices) and not all(has_prices):
            raise ScoringError(
                "Give both prices, of what is read and of what is written, or neither."
            )
        if self.budget_money is not None and not all(has_prices):
            raise ScoringError("A budget in money needs the prices of tokens.")

    def columns(self, instructions: str, by: User | None) -> dict[str, Any]:
        """For a row of `GeneratingJob`."""
        told = {"instructions": instructions, "created_by": by}
        return {**asdict(self), "model_args": dict(self.model_args), **told}

    def fingerprint(self, *others: Any) -> str:
        """The same for the same texts; what they may cost may differ, and how fast and how often the model is asked."""
        writing = sorted(item for item in self.model_args.items() if item[0] not in PACE)
        known = [self.generator, writing, *others]
        return hashlib.sha256(json.dumps(known, default=str).encode()).hexdigest()
