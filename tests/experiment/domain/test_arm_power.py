"""Power for a difference between arms: that of the report's own test, in simulated studies of the design."""

from functools import cache

import numpy as np
import pytest
from scipy.special import expit

from analysis.stats import verdicts
from analysis.stats.reliance.trials import AdvisedTrials, difference
from experiment.domain.arm_power import (
    ALIKE,
    ENOUGH,
    VARIED,
    Condition,
    Spread,
    contrasts,
    intercept,
)
from experiment.domain.forecast import ArmContrast

ACCURACY, RIGHT, FOLLOWS = 0.63, 0.75, 0.4
SPREADS = {"alike": ALIKE, "varied": VARIED}


@cache
def forecast(n_first: int, n_second: int, each: int, n_items: int) -> ArmContrast:
    items = frozenset(range(n_items))
    pair = (
        Condition("alone", "alone", n_first, each, items),
        Condition("advised", "advised", n_second, each, items, FOLLOWS),
    )
    (found,) = contrasts("human", pair, ACCURACY, RIGHT)
    return found


def studies(
    n: int, sizes: tuple[int, int, int, int], spread: Spread, effect: float
) -> tuple[np.ndarray, np.ndarray]:
    """(n,) differences that the report finds in simulated studies, and their intervals' halves; `effect` is the true one."""
    n_first, n_second, each, n_items = sizes
    rng = np.random.default_rng(5)
    level = intercept(spread, ACCURACY)
    values, halves = np.empty(n), np.empty(n)
    for study in range(n):
        second = np.repeat(np.arange(n_first + n_second) >= n_first, each)
        person = np.repeat(np.arange(n_first + n_second), each)
        item = np.concatenate([exposed(rng, size, each, n_items) for size in (n_first, n_second)])
        theirs, of_item = rng.normal(size=n_first + n_second), rng.normal(size=n_items)
        p = expit(level + spread.people * theirs[person] + spread.items * of_item[item])
        advice = (rng.random(n_items) < RIGHT)[item]
        p = np.where(second, (1 - FOLLOWS) * p + FOLLOWS * advice, p)
        p = np.clip(p + second * (effect - FOLLOWS * (RIGHT - ACCURACY)), 0, 1)
        right = (rng.random(len(p)) < p).astype(float)
        found = difference(trials(person, item, right), right, second)
        low, high = found.ci95
        values[study], halves[study] = found.value, (high - low) / 2
    return values, halves


def exposed(rng: np.random.Generator, n_people: int, each: int, n_items: int) -> np.ndarray:
    """(n_people * each,) test cases, the least exposed first, at random among equals."""
    counts, found = np.zeros(n_items), []
    for _ in range(n_people):
        own = np.argsort(counts + 0.9 * rng.random(n_items))[:each]
        counts[own] += 1
        found.append(own)
    return np.concatenate(found)


def trials(person: np.ndarray, item: np.ndarray, right: np.ndarray) -> AdvisedTrials:
    names = np.full(len(right), "", dtype=object)
    return AdvisedTrials(person, item, names, names, *(right,) * 12)


def smallest_found(values: np.ndarray, halves: np.ndarray) -> float:
    """The true difference that four in five of these studies would find: each finds what its deviation lifts above its margin."""
    return float(np.quantile(halves - (values - values.mean()), 0.8))


DESIGNS = [(100, 100, 6, 200), (30, 30, 10, 30)]
GRID = [*DESIGNS, (20, 20, 6, 200), (85, 85, 6, 60), (12, 12, 10, 10), (150, 50, 9, 120), (60, 60, 3, 100), (200, 200, 9, 100)]  # fmt: skip


def check(sizes: tuple[int, int, int, int], spread: str, n: int) -> None:
    found = forecast(*sizes).detectable[list(SPREADS).index(spread)]
    values, halves = studies(n, sizes, SPREADS[spread], found)
    truth = smallest_found(values, halves)
    power = (np.abs(values) > halves).mean()
    print(f"{sizes} {spread}: {100 * found:.1f}, {100 * truth:.1f}, power {power:.3f}")
    assert found == pytest.approx(truth, rel=0.15)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("sizes", DESIGNS)
def test_the_detectable_difference_is_found_in_four_of_five_studies(sizes, spread) -> None:
    check(sizes, spread, 150)


@pytest.mark.sweep
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("sizes", GRID)
def test_the_detectable_difference_of_many_designs_is_found_in_four_of_five(sizes, spread) -> None:
    check(sizes, spread, 500)


def test_power_is_that_of_the_reports_test_for_the_expected_difference() -> None:
    sizes = (60, 60, 12, 60)
    found = forecast(*sizes)
    values, halves = studies(300, sizes, VARIED, found.difference)
    assert found.power[1] == pytest.approx((np.abs(values) > halves).mean(), abs=0.07)


def test_more_people_lower_the_detectable_difference_to_what_test_cases_leave() -> None:
    found = [forecast(n, n, 9, 60).detectable[1] for n in (20, 200, 2_000, 200_000, 20_000_000)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == pytest.approx(found[-2], rel=0.02)
    assert found[-1] > 0.04


def test_as_few_people_as_the_report_says_nothing_of_have_no_power() -> None:
    assert ENOUGH == verdicts.ENOUGH
    assert forecast(7, 50, 9, 60).detectable is None
    assert forecast(50, 50, 9, 7).power is None
    assert forecast(8, 50, 9, 60).detectable


def test_each_further_arm_makes_a_difference_harder_to_find() -> None:
    items = frozenset(range(60))
    arms = [Condition(name, name, 50, 9, items, FOLLOWS * (name != "a")) for name in "abcd"]
    two, four = contrasts("human", arms[:2], 0.63, 0.7), contrasts("human", arms, 0.63, 0.7)
    assert len(four) == 3
    assert two[0].detectable[0] < four[0].detectable[0]


def test_people_who_are_in_both_conditions_differ_less() -> None:
    items = frozenset(range(60))
    alone, own = (Condition("a", arm, 50, 9, items) for arm in ("a", "b"))
    other = Condition("b", "b", 50, 9, items, FOLLOWS)
    apart = contrasts("human", [alone, other], 0.63, 0.7)[0]
    same = contrasts("human", [own, other], 0.63, 0.7)[0]
    assert same.detectable[1] < apart.detectable[1]
    # People who are alike have nothing in common
    assert same.detectable[0] == apart.detectable[0]
