"""How many participants give an interval of a wanted width? From the fitted mixed model.

Accuracy over the trials of a new study of N people who judge the same number of items (drawn from the population of
items, balanced) has a variance that the model gives in closed form. Studies simulated in the tests show that the two-way
interval of analysis.stats.two_way_clustered is that wide and holds the truth. However many the people, variation between items
sets a floor.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special
from scipy.special import expit

from analysis.stats.arrays import Ints

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
WEIGHTS /= WEIGHTS.sum()

METHOD = (
    "Expected width of the 95% two-way interval (participants and test cases) of the mean accuracy of a new study, "
    "from the variance that the fitted mixed model implies for new people and test cases, and Student's t for the smaller number of them, as for the interval itself. For each target width, the smallest sufficient number of participants follows from the same variance. People judge as many trials each as in "
    "this study, where these numbers differ, and all trials are spread over the test cases as evenly as whole numbers allow. The fitted parameters are treated as known. "
    "The low and high ends replace the standard deviation of test cases by the ends of its interval."
)


@dataclass(frozen=True)
class Components:
    """Variances of the chance to be right: between participants, between items, and the rest of a single trial."""

    participants: float
    items: float
    rest: float


def components(intercept: float, sd_participants: float, sd_items: float) -> Components:
    """Var E[p | person], Var E[p | item] and E p (1 - E p) less both, p = expit(intercept + sd_p u + sd_i v), u, v ~ N(0, 1).

    Gauss-Hermite quadrature, 40 nodes for each effect. The three add up to the variance of a single answer.

    >>> components(0.0, 0.0, 0.0).rest
    0.25
    """
    p = expit(intercept + sd_participants * NODES[:, None] + sd_items * NODES[None, :])
    by_person, by_item = p @ WEIGHTS, WEIGHTS @ p
    mean = float(WEIGHTS @ by_person)
    people, items = (float(WEIGHTS @ (by - mean) ** 2) for by in (by_person, by_item))
    return Components(people, items, mean * (1 - mean) - people - items)


@dataclass(frozen=True)
class Design:
    """Design that stays the same as participants are added: the number of items, and trials per participant of the data, (people,)."""

    n_items: int
    trials_each: Ints

    def trials_of(self, n_participants: int) -> Ints:
        """(participants,) trials: quantiles of those of the data, sorted."""
        places = (np.arange(n_participants) + 0.5) / n_participants
        ranks = (places * len(self.trials_each)).astype(int)
        each: Ints = np.sort(self.trials_each)[ranks]
        return each


def variance(parts: Components, design: Design, n_participants: int) -> float:
    """Variance of the mean accuracy of a study: participants sum n_p^2 / T^2 + items sum n_i^2 / T^2 + rest / T, T trials.

    n_p as in the data, n_i equal up to one.

    >>> variance(Components(0.0, 0.0, 0.25), Design(10, np.array([5])), 5)
    0.01
    """
    each = design.trials_of(n_participants)
    total = int(each.sum())
    times, more = divmod(total, design.n_items)
    squares = more * (times + 1) ** 2 + (design.n_items - more) * times**2
    people = float((each.astype(float) ** 2).sum())
    return (parts.participants * people + parts.items * squares) / total**2 + parts.rest / total


def interval_width(parts: Components, design: Design, n_participants: int) -> float:
    """Width of the 95% interval: 2 t standard errors, t for the smaller number of participants and items less one; at least two of each.

    >>> round(interval_width(Components(0.0, 0.0, 0.25), Design(10, np.array([10])), 40), 3)  # t = 2.262
    0.113
    """
    return _two_sided(min(n_participants, design.n_items)) * math.sqrt(
        variance(parts, design, n_participants)
    )


def floor_width(parts: Components, n_items: int) -> float:
    """Width of the interval of a study of any number of participants: variation between items alone."""
    return _two_sided(n_items) * math.sqrt(parts.items / n_items)


def _two_sided(n_clusters: int) -> float:
    """2 t for 95%; infinite for fewer than two clusters."""
    return 2 * float(special.stdtrit(n_clusters - 1, 0.975)) if n_clusters > 1 else math.inf


@dataclass(frozen=True)
class Target:
    """`n_participants` is None where no number reaches `width` with these items; `n_items_needed` is then the fewest items
    with which enough people could (variation between items alone), else None. The low and high numbers are those at
    the ends of the interval of sd_items, None where out of reach, or where there is no interval."""

    width: float
    n_participants: int | None
    n_items_needed: int | None
    n_participants_low: int | None = None
    n_participants_high: int | None = None


def target(
    intercept: float,
    sd_participants: float,
    sd_items: float,
    sd_items_ci95: tuple[float, float] | None,
    design: Design,
    wanted: float,
) -> Target:
    """`participants_for` these parameters, and for the ends of the interval of sd_items, the others as they are.

    >>> found = target(0.0, 0.0, 0.0, (0.0, 9.0), Design(10, np.array([10])), 0.1)
    >>> found.n_participants, found.n_participants_low, found.n_participants_high
    (52, 52, None)
    """

    def at(sd: float) -> Target:
        return participants_for(components(intercept, sd_participants, sd), design, wanted)

    found = at(sd_items)
    if sd_items_ci95 is None:
        return found
    low, high = (at(sd).n_participants for sd in sd_items_ci95)
    return replace(found, n_participants_low=low, n_participants_high=high)


def participants_for(
    parts: Components, design: Design, wanted: float, most: int = 1_000_000
) -> Target:
    """The fewest participants whose study's 95% interval is expected to be no wider than `wanted`; by bisection.

    >>> participants_for(Components(0.0, 0.0, 0.25), Design(10, np.array([10])), 0.1).n_participants
    52
    >>> participants_for(Components(0.0, 0.1, 0.15), Design(10, np.array([10])), 0.1).n_items_needed
    157
    """
    if interval_width(parts, design, most) > wanted:
        needed = _fewest(lambda n: floor_width(parts, n) < wanted, design.n_items)
        return Target(wanted, None, needed)
    return Target(wanted, _fewest(lambda n: interval_width(parts, design, n) <= wanted, 1), None)


def _fewest(is_enough: Callable[[int], bool], low: int) -> int:
    """The smallest number above `low` that is enough."""
    high = 2 * low
    while not is_enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class Expected:
    """Expectation for a study of `n_participants`: the standard error and the width of its 95% interval; the widths at the
    ends of the interval of sd_items, None where there is no interval."""

    n_participants: int
    ci_width: float
    se: float
    ci_width_low: float | None = None
    ci_width_high: float | None = None


def expected(
    intercept: float,
    sd_participants: float,
    sd_items: float,
    sd_items_ci95: tuple[float, float] | None,
    design: Design,
    n_participants: int,
) -> Expected:
    """By the same variance as `target`: the width is at most the target's from the target's number of participants on.

    >>> expected(0.0, 0.0, 0.0, None, Design(10, np.array([10])), 52).ci_width <= 0.1
    True
    """

    def at(sd: float) -> Components:
        return components(intercept, sd_participants, sd)

    here = at(sd_items)
    ends = [interval_width(at(sd), design, n_participants) for sd in sd_items_ci95 or ()]
    return Expected(
        n_participants,
        interval_width(here, design, n_participants),
        math.sqrt(variance(here, design, n_participants)),
        *ends,
    )
