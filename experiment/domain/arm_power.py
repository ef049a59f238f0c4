"""How large a difference between two arms a study can find: power of the test that its report makes. Pure.

The report tests the difference of the shares of right final answers between two conditions, on the test cases of one source,
with errors clustered by participants and test cases, Student's t and Holm's correction. Everything that the power of this test depends on
is known before anybody takes part: people, trials and test cases come from the design, and so does how simulated
participants answer. A rehearsal would only add noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from experiment.domain.forecast import ArmContrast
from lib.levels import ENOUGH, LEVEL

Floats = npt.NDArray[np.float64]

POWER = 0.8  # with which a difference is called detectable
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
WEIGHTS /= WEIGHTS.sum()


@dataclass(frozen=True, slots=True)
class Spread:
    """Standard deviations on the log-odds of a right answer, between people and between test cases."""

    people: float
    items: float


# As simulated participants, who are all alike, and somewhat more than in the published study (.16 and .72)
ALIKE, VARIED = Spread(0.0, 0.0), Spread(0.4, 0.8)


@dataclass(frozen=True, slots=True)
class Condition:
    """Trials of an arm of a source of test cases, all with advice or all without; those of one arm share its people.

    n_people: valid finishers; trials_each: mean number of trials of each; items: keys of the test cases that they can get;
    follows: share of trials whose answer is the advised one, whatever the participant thinks.
    """

    name: str
    arm: str
    n_people: int
    trials_each: float
    items: frozenset[int]
    follows: float = 0.0

    @property
    def n_trials(self) -> float:
        return self.n_people * self.trials_each


def contrasts(
    source: str, conditions: Sequence[Condition], accuracy: float, advice_right: float
) -> tuple[ArmContrast, ...]:
    """Each condition against the first. accuracy: of answers without advice; advice_right: share of right advice.

    The level is that of Holm's correction at its strictest, .05 over the number of comparisons.
    """
    reference, *others = conditions
    level = LEVEL / max(1, len(others))
    return tuple(_contrast(source, reference, one, accuracy, advice_right, level) for one in others)


def _contrast(
    source: str,
    first: Condition,
    second: Condition,
    accuracy: float,
    advice_right: float,
    level: float,
) -> ArmContrast:
    fewest = min(first.n_people, second.n_people, len(first.items), len(second.items))
    difference = (second.follows - first.follows) * (advice_right - accuracy)
    if fewest < ENOUGH or not first.trials_each or not second.trials_each:
        return ArmContrast(
            source, first.name, second.name, fewest, difference, detectable=None, power=None
        )
    t = float(special.stdtrit(fewest - 1, 1 - level / 2))
    low, high = (
        _errors(first, second, spread, accuracy, advice_right) for spread in (ALIKE, VARIED)
    )
    return ArmContrast(
        source,
        first.name,
        second.name,
        fewest,
        difference,
        detectable=(low.detectable(t), high.detectable(t)),
        power=(low.power(difference, t), high.power(difference, t)),
    )


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of a difference: its variance, and the mean and variance of the standard error that the report's test takes for it."""

    variance: float
    se: float
    se_variance: float

    def _beyond(self, t: float) -> float:
        """Standard deviation of D - t se, independent of one another."""
        return math.sqrt(self.variance + t * t * self.se_variance)

    def detectable(self, t: float) -> float:
        """d with P(D > t se) = .8: t E se + z SD(D - t se)."""
        return t * self.se + float(special.ndtri(POWER)) * self._beyond(t)

    def power(self, difference: float, t: float) -> float:
        """P(|D| > t se).

        >>> Errors(1.0, 1.0, 0.0).power(2.8, 1.96).__round__(2)
        0.8
        """
        sides = (side * difference - t * self.se for side in (1.0, -1.0))
        return float(sum(special.ndtr(side / self._beyond(t)) for side in sides))


def _errors(
    first: Condition, second: Condition, spread: Spread, accuracy: float, advice_right: float
) -> Errors:
    """With deviations e of trials, each 1/T of its condition, the two-way variance is V(trial) + [V(participant) - V(trial)] +
    [V(item) - V(trial)], each bracket 0 at least (analysis.stats.two_way_clustered). Expected values, with a = (1 - f) of a
    condition, tau_p and tau_i the variances of the chance to be right between people and test cases, n = T / K judgments of a test case (as equal as whole numbers allow):

    - trial: sum p (1 - p) / T
    - people beyond: sum a^2 tau_p (m - 1) / T, less 2 a a' tau_p / N for the same people
    - items beyond: sum (a^2 tau_i + f^2 q (1 - q)) (n^2 - n + r (1 - r)) K / T^2, less twice the covariance on shared test
      cases; r: n's fraction, q: share of right advice

    Their sum is the variance of the difference. That of each bracket's estimate is that of its cross products, 2 V^2 (1 - 1 / size) / G.
    """
    tau_people, tau_items = _between(spread, accuracy)
    of_advice = advice_right * (1 - advice_right)
    both = (first, second)
    trial = [_at_random(one, accuracy, advice_right) for one in both]
    own = [1 - one.follows for one in both]
    is_same = first.arm == second.arm
    people = [
        a * a * tau_people * (one.trials_each - 1) / one.n_trials
        for a, one in zip(own, both, strict=True)
    ]
    shared_people = 2 * own[0] * own[1] * tau_people / first.n_people if is_same else 0.0
    items = [
        (a * a * tau_items + one.follows**2 * of_advice) * _pairs(one)
        for a, one in zip(own, both, strict=True)
    ]
    covariance = own[0] * own[1] * tau_items + first.follows * second.follows * of_advice
    n_shared = len(first.items & second.items)
    shared_items = 2 * covariance * n_shared / (len(first.items) * len(second.items))
    at_random, beyond_people = sum(trial), sum(people) - shared_people
    beyond_items = sum(items) - shared_items
    sd_people = math.sqrt(
        sum(
            2 * (v + x) ** 2 * max(0.0, 1 - 1 / one.trials_each) / one.n_people
            for v, x, one in zip(trial, people, both, strict=True)
        )
    )
    n_items = len(first.items | second.items)
    size = sum(one.n_trials for one in both) / n_items
    sd_items = (at_random + max(0.0, beyond_items)) * math.sqrt(
        2 * max(0.0, 1 - 1 / size) / n_items
    )
    clipped = _clipped(beyond_people, sd_people), _clipped(beyond_items, sd_items)
    mean = at_random + sum(m for m, _ in clipped)
    varies = sum(v for _, v in clipped)
    return Errors(
        variance=at_random + beyond_people + beyond_items,
        se=math.sqrt(mean) * (1 - varies / (8 * mean**2)),
        se_variance=varies / (4 * mean),
    )


def _at_random(one: Condition, accuracy: float, advice_right: float) -> float:
    right = accuracy + one.follows * (advice_right - accuracy)
    return right * (1 - right) / one.n_trials


def _pairs(one: Condition) -> float:
    """K E[n (n - 1)] / T^2, n the judgments of a test case."""
    n_items = len(one.items)
    n = one.n_trials / n_items
    rest = n % 1
    return n_items * (n * n - n + rest * (1 - rest)) / one.n_trials**2


def _between(spread: Spread, accuracy: float) -> tuple[float, float]:
    """Var E[p | person] and Var E[p | item], p = expit(b + sd_p u + sd_i v), u, v ~ N(0, 1)."""
    p = special.expit(intercept(spread, accuracy) + _nodes(spread))
    people, items = (float(WEIGHTS @ (by - accuracy) ** 2) for by in (p @ WEIGHTS, WEIGHTS @ p))
    return people, items


def intercept(spread: Spread, accuracy: float) -> float:
    """b with E p = accuracy, over people and test cases; Gauss-Hermite quadrature, 40 nodes each.

    >>> round(intercept(Spread(0.0, 0.0), 0.63), 3)
    0.532
    """

    def off(b: float) -> float:
        return float(WEIGHTS @ special.expit(b + _nodes(spread)) @ WEIGHTS) - accuracy

    return float(optimize.brentq(off, -20, 20))


def _nodes(spread: Spread) -> Floats:
    """(40 of people, 40 of test cases)"""
    found: Floats = spread.people * NODES[:, None] + spread.items * NODES[None, :]
    return found


def _clipped(mean: float, sd: float) -> tuple[float, float]:
    """Mean and variance of max(0, x), x normal.

    >>> [round(x, 3) for x in _clipped(0.0, 1.0)]
    [0.399, 0.341]
    """
    if sd <= 0:
        return max(0.0, mean), 0.0
    z = mean / sd
    below, density = float(special.ndtr(z)), math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    first = mean * below + sd * density
    return first, (mean * mean + sd * sd) * below + mean * sd * density - first**2
