"""The settings that every job has which asks a model: checked, and turned into what a row holds."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User

from experiment.models import ResearchField
from scoring.backends.generating import check_generator_args
from scoring.domain.backend import ScoringError


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

    def columns(
        self, research_field: ResearchField, instructions: str, by: User | None
    ) -> dict[str, Any]:
        """For a row of `WritingJob`."""
        return {
            **asdict(self),
            "model_args": dict(self.model_args),
            "field": research_field,
            "instructions": instructions,
            "created_by": by,
        }

    def fingerprint(self, *others: Any) -> str:
        """The same for the same work; what it may cost may differ."""
        known = [self.generator, sorted(self.model_args.items()), *others]
        return hashlib.sha256(json.dumps(known, default=str).encode()).hexdigest()
