"""How long a study takes."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Of the 154 published participants with nine trials each, the middle half took 55 to 133 seconds an
# abstract on average (total time over nine).
SECONDS_PER_ABSTRACT = (55, 133)
MINUTES_BESIDE = (3, 5)  # consent, questions about oneself, debrief
MIN_FINISHERS = 20
STEP = 5


@dataclass(frozen=True, slots=True)
class Duration:
    """Minutes that the middle half of the participants need, rounded to five."""

    low: int
    high: int


def expected_duration(n_trials: int, observed_minutes: Sequence[float] = ()) -> Duration:
    """From the study's own finishers where there are 20 or more, else from the number of trials and one practice.

    >>> expected_duration(11)
    Duration(low=15, high=30)
    >>> expected_duration(11, [20.0] * 10 + [41.0] * 10)
    Duration(low=20, high=40)
    """
    if len(observed_minutes) >= MIN_FINISHERS:
        low, _, high = statistics.quantiles(observed_minutes, n=4, method="inclusive")
    else:
        low, high = (
            (n_trials + 1) * seconds / 60 + beside
            for seconds, beside in zip(SECONDS_PER_ABSTRACT, MINUTES_BESIDE, strict=True)
        )
    first = max(STEP, STEP * round(low / STEP))
    return Duration(first, max(first + STEP, STEP * round(high / STEP)))
