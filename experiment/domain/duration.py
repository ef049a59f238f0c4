"""How long a study takes."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Of the 154 published participants with nine trials each, the middle half took 55 to 133 seconds an
# abstract on average (total time over nine).
SECONDS_PER_ABSTRACT = (55, 133)
# Assumed: a sentence or two in one's own words; nobody has published what these take
SECONDS_PER_QUESTION = (60, 180)
MINUTES_BESIDE = (3, 5)  # consent, questions about oneself, debrief
MIN_FINISHERS = 20
STEP = 5


@dataclass(frozen=True, slots=True)
class Duration:
    """Minutes that the middle half of the participants need, rounded to five."""

    low: int
    high: int


def expected_duration(
    n_abstracts: int, observed_minutes: Sequence[float] = (), n_questions: int = 0
) -> Duration:
    """From the study's own finishers where there are 20 or more, else from the numbers of abstracts, with one practice, and of questions.

    >>> expected_duration(11)
    Duration(low=15, high=30)
    >>> expected_duration(11, [20.0] * 10 + [41.0] * 10)
    Duration(low=20, high=40)
    >>> expected_duration(0, n_questions=5)
    Duration(low=10, high=20)
    """
    if len(observed_minutes) >= MIN_FINISHERS:
        low, _, high = statistics.quantiles(observed_minutes, n=4, method="inclusive")
    else:
        judged = n_abstracts + 1 if n_abstracts else 0
        of_each = zip(SECONDS_PER_ABSTRACT, SECONDS_PER_QUESTION, MINUTES_BESIDE, strict=True)
        low, high = (
            (judged * abstract + n_questions * question) / 60 + beside
            for abstract, question, beside in of_each
        )
    first = max(STEP, STEP * round(low / STEP))
    return Duration(first, max(first + STEP, STEP * round(high / STEP)))
