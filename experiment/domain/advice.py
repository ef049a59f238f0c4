"""Advice to participants: which trials have it, on which side it is, and how sure the adviser is in words. Pure."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from experiment.domain.assignment import SIDES, Side, Stratum, participant_rng

# Strata whose trials may be advised: never an attention check, nor a question
ADVISED_STRATA: tuple[Stratum, ...] = ("human", "machine")
# Of an arm that has both, the trials with each procedure and without one; files name them so too, and so in one language
CONDITIONS = {"none": "without advice", "after": "advice after an answer", "before": "advice first"}
PLANTED = "planted"  # the kind of adviser whose advice the debriefing must reveal
# Kinds of advisers; analysis/services/advisers.py has what each goes by
ADVISERS = {
    "model": "a model that took this test",
    "team": "a team of models that took this test",
    "people": "the majority of participants",
    PLANTED: "advice of a stated accuracy, made up for this study",
}
Certainty = Literal["unsure", "fairly_sure", "sure", "very_sure"]
# Words for a probability from 0.5 to 1, each up to (and without) this one
WORDS: tuple[tuple[float, Certainty], ...] = (
    (0.6, "unsure"),
    (0.75, "fairly_sure"),
    (0.9, "sure"),
)


def advised_side(original_side: Side, *, picks_original: bool) -> Side:
    """Where the version that the adviser chose stands.

    >>> advised_side("A", picks_original=True), advised_side("A", picks_original=False)
    ('A', 'B')
    """
    return original_side if picks_original else SIDES[1 - SIDES.index(original_side)]


def certainty(p: float) -> Certainty:
    """A probability in words.

    >>> certainty(0.5), certainty(0.6), certainty(0.899), certainty(1)
    ('unsure', 'fairly_sure', 'sure', 'very_sure')
    """
    return next((word for below, word in WORDS if p < below), "very_sure")


def middle(p: float) -> float:
    """The probability that the words for p tell: the middle of their range.

    >>> middle(0.52), middle(0.74), middle(0.93)
    (0.55, 0.675, 0.95)
    """
    ends = (0.5, *(below for below, _word in WORDS), 1.0)
    return next(round((low + high) / 2, 6) for low, high in pairwise(ends) if p < high or high == 1)


def percent(p: float) -> int:
    """A probability from 0.5 to 1 as whole percent; only one of 1 is 100%.

    >>> percent(0.784), percent(0.9999), percent(1)
    (78, 99, 100)
    """
    return 100 if p >= 1 else min(round(100 * p), 99)


def rating(p: float) -> int:
    """A probability from 0.5 to 1 on the scale of participants' ratings: 100 (2 p - 1), and 1, its lowest point, for a guess.

    A rating c is read as the probability 0.5 + 0.5 c / 100, which this undoes. Only a probability of 1 is 100.

    >>> rating(0.5), rating(0.784), rating(0.9999), rating(1)
    (1, 57, 99, 100)
    """
    return 100 if p >= 1 else min(max(round(100 * (2 * p - 1)), 1), 99)


def advised_positions(strata: Sequence[str], n: int | None, seed: int) -> frozenset[int]:
    """Positions, from 1, of the trials in which a participant is advised: all of test cases, or `n` of them.

    Each has the same chance, and they are spread over the session: the trials of test cases are put in a circle and turned
    at random, cut into `n` blocks that differ by at most one in length, and of each block one is drawn.

    >>> advised_positions(["human", "catch", "machine"], None, seed=7)
    frozenset({1, 3})
    >>> len(advised_positions(["human"] * 9, 4, seed=7))
    4
    """
    may = [n for n, stratum in enumerate(strata, start=1) if stratum in ADVISED_STRATA]
    if n is None or n >= len(may):
        return frozenset(may)
    rng = participant_rng(seed, "advised")
    start = rng.randrange(len(may))
    turned = may[start:] + may[:start]
    cuts = [int(Fraction(k * len(may), n)) for k in range(n + 1)] if n else []
    return frozenset(rng.choice(turned[low:high]) for low, high in pairwise(cuts))


MOST_PASSAGES = 3
LEAST_SHARE = 0.1


def decisive(shares: Sequence[float]) -> tuple[int, ...]:
    """Places, from 1, of the passages that counted most for the choice: at most three, each with a tenth of all evidence.

    shares: of the evidence, one for each passage, negative where it speaks against the choice.

    >>> decisive([0.5, -0.2, 0.25, 0.05]), decisive([])
    ((1, 3), ())
    """
    order = sorted(range(len(shares)), key=lambda k: -shares[k])
    return tuple(sorted(k + 1 for k in order[:MOST_PASSAGES] if shares[k] >= LEAST_SHARE))
