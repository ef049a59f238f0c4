"""Forecasts of a study: a participant's time, its time until the target, and people and cost by a dry run. Pure."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import ROUND_UP, Decimal
from typing import Any, Literal, Self

# Nineteen of twenty forecasts hold, where events come as they came
Z = statistics.NormalDist().inv_cdf(0.975)
# So many events, evened out, must have been seen: from fewer the interval says nothing
MIN_EVENTS = 4


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds: what is expected, and the limits between which 95% of such forecasts lie."""

    low_s: float
    expected_s: float
    high_s: float


def wait_for(n_more: int, gaps_s: Sequence[float]) -> Wait | None:
    """The time until `n_more` further events.

    Args:
        n_more: events that are missing, at least 1.
        gaps_s: seconds between successive events lately; the last one is from the latest event until now.
    Returns:
        None where too few events, or too unevenly, were seen.

    Events at a steady rate leave gaps as long as they are variable. Where gaps vary more (nights, batches), what was
    seen and what is to come count as `dispersion` times fewer events. Of n seen and m to come, the ratio of the mean
    gaps then has the F distribution with 2m and 2n degrees of freedom; by Paulson's approximation, its cube root.

    >>> wait = wait_for(10, [60.0] * 101)
    >>> round(wait.expected_s), round(wait.low_s), round(wait.high_s)
    (606, 284, 1077)
    """
    n_seen, elapsed_s = len(gaps_s) - 1, sum(gaps_s)
    if n_seen < MIN_EVENTS or elapsed_s <= 0:
        return None
    mean = elapsed_s / len(gaps_s)
    dispersion = max(1.0, statistics.pvariance(gaps_s, mean) / mean**2)
    if n_seen / dispersion < MIN_EVENTS:
        return None
    expected_s = n_more * elapsed_s / n_seen
    low, high = _f_limits(n_more / dispersion, n_seen / dispersion)
    return Wait(low * expected_s, expected_s, high * expected_s)


def _f_limits(a: float, b: float) -> tuple[float, float]:
    """The 2.5% and 97.5% quantiles of F with 2a and 2b degrees of freedom, for b of `MIN_EVENTS` or more.

    Paulson (1942): with A = 1/(9a) and B = 1/(9b), ((1 - B) c - (1 - A)) / sqrt(B c^2 + A) is about standard normal, c
    the cube root of F. Squared, this is a quadratic equation for c.
    """
    var_a, var_b = 1 / (9 * a), 1 / (9 * b)
    p = (1 - var_b) ** 2 - Z**2 * var_b
    q = (1 - var_b) * (1 - var_a)
    r = (1 - var_a) ** 2 - Z**2 * var_a
    root = math.sqrt(max(0.0, q**2 - p * r))
    low, high = (q - root) / p, (q + root) / p
    return max(0.0, low) ** 3, high**3


CENT = Decimal("0.01")
PayPer = Literal["participant", "hour"]


@dataclass(frozen=True, slots=True)
class ArmContrast:
    """The power of the report's test of a condition against the reference, on the test cases of one source.

    n_clusters: the smallest number of people or test cases. difference: of the shares of right answers that are expected of
    simulated participants. detectable: the difference that is found with a chance of 80%; power: the chance to find `difference`;
    each for people and test cases that vary little and much (arm_power), None where there are too few of them for a verdict.
    """

    source: str
    first: str
    second: str
    n_clusters: int
    difference: float
    detectable: tuple[float, float] | None
    power: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Simulated:
    """The behaviour of the simulated participants.

    `minutes` are the quartiles of finishers, from consent to the end; `excluded` how many finishers each reason left out;
    `exposures` the valid judgments of each test case, by stratum; `trials` the rows of the sample export; `arms` what the
    study can find between its arms; `lacks_advice`: an arm has advice, and on some test cases none was frozen to be seen.
    """

    started: int
    finished: int
    valid: int
    minutes: tuple[float, float, float]
    excluded: Mapping[str, int]
    exposures: Mapping[str, Sequence[int]]
    trials: int
    arms: tuple[ArmContrast, ...] = ()
    lacks_advice: bool = False

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """From what `asdict` made of it, by way of JSON."""
        low, median, high = stored["minutes"]
        arms = tuple(ArmContrast(**one) for one in stored.get("arms", ()))
        # Older dry runs stored other numbers about arms, which are not shown any more
        known = {f.name: stored[f.name] for f in fields(cls) if f.name in stored}
        return cls(**{**known, "minutes": (low, median, high), "arms": arms})

    @property
    def never_shown(self) -> dict[str, int]:
        """Test cases of each stratum without a valid judgment, where there are any."""
        counts = {stratum: list(own).count(0) for stratum, own in self.exposures.items()}
        return {stratum: n for stratum, n in counts.items() if n}


@dataclass(frozen=True, slots=True)
class Pay:
    """The pay of a finisher, and the recruitment site's fee on it in percent."""

    amount: Decimal
    per: PayPer
    fee_percent: Decimal


@dataclass(frozen=True, slots=True)
class Recruiting:
    """The people and the cost of a target of valid finishers, were everyone like the simulated ones.

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


# Of the 154 published participants with nine trials each, the middle half took 55 to 133 seconds an
# abstract on average (total time over nine).
SECONDS_PER_ABSTRACT = (55, 133)
# Assumed: a sentence or two in one's own words; nobody has published what these take
SECONDS_PER_QUESTION = (60, 180)
# Assumed: the page with advice after an own answer, about ten seconds
SECONDS_PER_REVISION = (5, 20)
MINUTES_BESIDE = (3, 5)  # consent, questions about oneself, debrief
MIN_FINISHERS = 20
STEP = 5


@dataclass(frozen=True, slots=True)
class Duration:
    """Minutes that the middle half of the participants need and the median, rounded to five."""

    low: int
    typical: int
    high: int


def expected_duration(
    n_abstracts: int,
    observed_minutes: Sequence[float] = (),
    n_questions: int = 0,
    n_revisions: int = 0,
) -> Duration:
    """From the study's own finishers where there are 20 or more, else from the numbers of abstracts, with one practice, of questions, and of second pages.

    There, the median is the geometric mean of the quartiles, as it is of log-normal times.

    >>> expected_duration(11)
    Duration(low=15, typical=20, high=30)
    >>> expected_duration(11, [20.0] * 10 + [41.0] * 10)
    Duration(low=20, typical=30, high=40)
    >>> expected_duration(0, n_questions=5)
    Duration(low=10, typical=15, high=20)
    >>> expected_duration(11, n_revisions=60)
    Duration(low=20, typical=30, high=50)
    """
    if len(observed_minutes) >= MIN_FINISHERS:
        low, median, high = statistics.quantiles(observed_minutes, n=4, method="inclusive")
    else:
        judged = n_abstracts + 1 if n_abstracts else 0
        of_each = zip(
            SECONDS_PER_ABSTRACT,
            SECONDS_PER_QUESTION,
            SECONDS_PER_REVISION,
            MINUTES_BESIDE,
            strict=True,
        )
        low, high = (
            (judged * abstract + n_questions * question + n_revisions * revision) / 60 + beside
            for abstract, question, revision, beside in of_each
        )
        median = math.sqrt(low * high)
    first = max(STEP, STEP * round(low / STEP))
    last = max(first + STEP, STEP * round(high / STEP))
    return Duration(first, min(max(first, STEP * round(median / STEP)), last), last)
