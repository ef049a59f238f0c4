"""How long it takes until something has happened so many times more, if it goes on as it did lately. Pure."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

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
