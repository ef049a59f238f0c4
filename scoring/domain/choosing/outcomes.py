"""Outcomes of a model's answers about a test case: P(original), a decision, or nothing. Pure.

docs/decisions/0024-models-that-choose.md says why both orders are asked, how answers are averaged, and why ties stay ties.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lib.points import TIE, point

JEFFREYS = 0.5  # successes and failures that are added before a share's logarithm is taken


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer about a test case that could be read.

    original: the side on which the original was shown. side: the one that was chosen, "" where both were as likely.
    confidence: percent, 50 to 100, where it was stated. log_odds: of side A against side B, in nats, where it is known.
    """

    original: str
    side: str
    confidence: float | None = None
    log_odds: float | None = None

    @property
    def share_original(self) -> float:
        """1 for the original, 0 for the altered version, 1/2 for neither."""
        return TIE if not self.side else float(self.side == self.original)

    @property
    def stated(self) -> float | None:
        """The stated probability of the original."""
        if self.confidence is None:
            return None
        return (self.confidence if self.side == self.original else 100 - self.confidence) / 100

    @property
    def odds_original(self) -> float | None:
        if self.log_odds is None:
            return None
        return self.log_odds if self.original == "A" else -self.log_odds


@dataclass(frozen=True, slots=True)
class ItemChoice:
    """A model's decision about a test case.

    p_original: probability that it gives the original; None where one answer in each order is all that there is, which is no
    probability. log_odds: of the original, in nats; finite, also where all answers agree. stated: probability of the original by the confidence that the model states, where it does. is_flip: the decision
    in one order is the opposite of that in the other, so that the side decided.
    """

    p_original: float | None
    log_odds: float
    stated: float | None
    n: int
    is_flip: bool

    @property
    def is_tie(self) -> bool:
        return self.log_odds == 0

    @property
    def points(self) -> float:
        return point(self.log_odds)


def outcome(replies: Sequence[Reply]) -> ItemChoice | None:
    """The decision over both orders, each of which counts as much.

    P(original) = 1 / (1 + exp(-m)). Where all answers have log-odds l, m is the mean over orders of the mean l within an
    order: what a model adds to the log-odds of a side cancels. Else m = ln((k + 1/2) / (n - k + 1/2)) (Jeffreys) with k / n
    the mean over orders of the share of the n answers that chose the original; with a single answer in an order, m decides,
    and there is no P(original).

    Returns:
        None: an order has no answer that can be read. The other alone would measure the preference for a side, too.

    >>> outcome([Reply("A", "A"), Reply("B", "A")])
    ItemChoice(p_original=None, log_odds=0.0, stated=None, n=2, is_flip=True)
    >>> outcome([Reply("A", "A", 90), Reply("B", "B", 70)]).stated
    0.8
    """
    orders = [[reply for reply in replies if reply.original == side] for side in ("A", "B")]
    if not all(orders):
        return None
    odds = [[reply.odds_original for reply in order] for order in orders]
    known = [[one for one in order if one is not None] for order in odds]
    has_odds = all(len(some) == len(order) for some, order in zip(known, orders, strict=True))
    if has_odds:
        means = [math.fsum(some) / len(some) for some in known]
        log_odds = _mean(means)
    else:
        means = [_mean([reply.share_original for reply in order]) - 0.5 for order in orders]
        n = len(replies)
        k = (_mean(means) + 0.5) * n
        log_odds = math.log((k + JEFFREYS) / (n - k + JEFFREYS))
    is_known = has_odds or min(map(len, orders)) > 1
    stated = [[s for reply in order if (s := reply.stated) is not None] for order in orders]
    said = _mean([_mean(order) for order in stated]) if all(stated) else None
    p_original = _sigmoid(log_odds) if is_known else None
    return ItemChoice(p_original, log_odds, said, len(replies), is_flip=means[0] * means[1] < 0)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _sigmoid(log_odds: float) -> float:
    """
    >>> _sigmoid(0.0), _sigmoid(-800.0)
    (0.5, 0.0)
    """
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    grown = math.exp(max(log_odds, -745.0))
    return grown / (1 + grown) if log_odds > -745 else 0.0
