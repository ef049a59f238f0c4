"""A study's promise to pay: exact amounts in one currency, and credits at a department's pool."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

NOTHING = Decimal("0.00")
CENT = Decimal("0.01")
MOST = Decimal("10000.00")  # to one person for one reason
CREDITS = "credits"  # in place of a currency
NONE, FIXED, RIGHT = "none", "fixed", "right"
_CURRENCY = re.compile(r"[A-Z]{3}")


def amount(value: Decimal, unit: str) -> str:
    """As the lab's pages and documents write it.

    >>> amount(Decimal("2.5"), "GBP"), amount(Decimal("1200"), "credits")
    ('2.50 GBP', '1,200.00 credits')
    """
    return f"{value.quantize(CENT):,f} {unit}"


@dataclass(frozen=True, slots=True)
class Pay:
    """The promise; 0 is none. `bonus_amount` is the whole of a fixed bonus, or that for each right test trial."""

    currency: str = ""
    base: Decimal = NOTHING
    screened_out: Decimal = NOTHING
    bonus: str = NONE
    bonus_amount: Decimal = NOTHING
    credits: Decimal = NOTHING

    @property
    def is_any(self) -> bool:
        """True if anything is promised."""
        return any((self.base, self.screened_out, self.bonus != NONE, self.credits))

    def earned(self, n_right: int) -> Decimal:
        """The bonus of a participant who finished, with so many right test trials.

        >>> Pay("GBP", bonus="right", bonus_amount=Decimal("0.10")).earned(7)
        Decimal('0.70')
        """
        if self.bonus == RIGHT:
            return self.bonus_amount * n_right
        return self.bonus_amount if self.bonus == FIXED else NOTHING

    def faults(self, *, has_test_trials: bool) -> dict[str, str]:
        """The first fault of each part, as a sentence.

        >>> Pay(base=Decimal(2)).faults(has_test_trials=True)
        {'currency': 'Give the currency of the payment, such as GBP.'}
        """
        found = {}
        has_money = bool(self.base or self.screened_out or self.bonus != NONE)
        if self.currency and not _CURRENCY.fullmatch(self.currency):
            found["currency"] = "A currency is three capital letters, such as GBP, EUR or USD."
        elif has_money and not self.currency:
            found["currency"] = "Give the currency of the payment, such as GBP."
        if self.bonus != NONE and not self.bonus_amount:
            found["bonus_amount"] = "Give the amount of the bonus."
        if self.bonus == NONE and self.bonus_amount:
            found["bonus"] = "Choose what the bonus is paid for, or set its amount to 0."
        if self.bonus == RIGHT and not has_test_trials:
            found["bonus"] = (
                "Answers to questions are graded later, so a bonus for right trials needs abstracts."
            )
        return found

    def lowered(self, before: "Pay") -> str:
        """Why this cannot follow a promise that people may have read; empty where it can.

        >>> Pay("GBP", Decimal(2)).lowered(Pay("GBP", Decimal(3)))
        'Real participants were promised more. Copy the study to pay less.'
        """
        if before.currency not in ("", self.currency):
            return "Real participants were promised another currency. Copy the study to change it."
        if before.bonus not in (NONE, self.bonus):
            return "Real participants were promised another bonus. Copy the study to change it."
        amounts = ("base", "screened_out", "bonus_amount", "credits")
        if any(getattr(self, name) < getattr(before, name) for name in amounts):
            return "Real participants were promised more. Copy the study to pay less."
        return ""

    def as_dict(self) -> dict[str, str]:
        """As JSON keeps it, amounts as exact texts."""
        return {name: str(getattr(self, name)) for name in NAMES}

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> "Pay":
        """Nothing of a version that was made before studies promised anything.

        >>> Pay.from_dict({}) == Pay()
        True
        """
        parts: dict[str, Any] = {name: said[name] for name in NAMES if name in said}
        amounts = {name: Decimal(parts[name]) for name in parts.keys() - TEXTS}
        return cls(**parts | amounts)

    def sentences(self) -> list[str]:
        """The promise, for the documents and the lab's pages."""
        found = []
        if self.base:
            found.append(
                f"Participants who finish are paid {amount(self.base, self.currency)}, whether or not they are excluded from the analysis."
            )
        if self.screened_out:
            found.append(
                f"Participants who are not admitted after they agreed are paid {amount(self.screened_out, self.currency)}."
            )
        if self.bonus == FIXED:
            found.append(
                f"Each participant who finishes also receives a bonus of {amount(self.bonus_amount, self.currency)}."
            )
        if self.bonus == RIGHT:
            found.append(
                f"Each participant who finishes also receives {amount(self.bonus_amount, self.currency)} for each test trial in which "
                "the final choice is right."
            )
        if self.credits:
            found.append(
                f"Participants from a SONA pool receive {amount(self.credits, CREDITS)} instead of money."
            )
        return found


NAMES = {field.name for field in fields(Pay)}
TEXTS = {"currency", "bonus"}
