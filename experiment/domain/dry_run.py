"""What a dry run forecasts: whom to recruit, how long that takes and what it costs. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from typing import Any, Literal, Self

CENT = Decimal("0.01")
PayPer = Literal["participant", "hour"]


@dataclass(frozen=True, slots=True)
class Simulated:
    """What the simulated participants did.

    `minutes` are the quartiles of finishers, from consent to the end; `excluded` how many finishers each reason left out;
    `exposures` the valid judgments of each test case, by stratum; `trials` the rows of the sample export.
    """

    started: int
    finished: int
    valid: int
    minutes: tuple[float, float, float]
    excluded: Mapping[str, int]
    exposures: Mapping[str, Sequence[int]]
    trials: int

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """From what `asdict` made of it, by way of JSON."""
        low, median, high = stored["minutes"]
        return cls(**{**stored, "minutes": (low, median, high)})

    @property
    def never_shown(self) -> dict[str, int]:
        """Test cases of each stratum without a valid judgment, where there are any."""
        counts = {stratum: list(own).count(0) for stratum, own in self.exposures.items()}
        return {stratum: n for stratum, n in counts.items() if n}


@dataclass(frozen=True, slots=True)
class Pay:
    """What a finisher gets, and the recruitment site's fee on it in percent."""

    amount: Decimal
    per: PayPer
    fee_percent: Decimal


@dataclass(frozen=True, slots=True)
class Recruiting:
    """What a target of valid finishers takes, were everyone like the simulated ones.

    Finishers are paid, those excluded afterwards as well. `days` is None without an arrival rate.
    """

    target: int
    to_start: int
    to_finish: int
    days: float | None
    pay_each: Decimal
    pay_all: Decimal
    fee: Decimal

    @property
    def total(self) -> Decimal:
        return self.pay_all + self.fee


def recruiting(found: Simulated, target: int, per_day: float, pay: Pay) -> Recruiting | None:
    """None where no simulated participant was valid: then no number of people reaches the target.

    >>> found = Simulated(50, 20, 16, (20.0, 30.0, 45.0), {}, {}, 0)
    >>> plan = recruiting(found, 200, 25, Pay(Decimal(12), "hour", Decimal(25)))
    >>> plan.to_start, plan.to_finish, plan.days, plan.pay_each, plan.total
    (625, 250, 25.0, Decimal('6.00'), Decimal('1875.00'))
    """
    if not found.valid:
        return None
    to_start = math.ceil(target * found.started / found.valid)
    to_finish = math.ceil(target * found.finished / found.valid)
    hours = Decimal(repr(found.minutes[1])) / 60 if pay.per == "hour" else Decimal(1)
    each = (pay.amount * hours).quantize(CENT, ROUND_UP)
    everyone = each * to_finish
    fee = (everyone * pay.fee_percent / 100).quantize(CENT, ROUND_UP)
    days = to_start / per_day if per_day else None
    return Recruiting(target, to_start, to_finish, days, each, everyone, fee)
