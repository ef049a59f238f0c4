"""Power for a difference between arms: its error is what such differences vary by, and its parts grow as they should."""

import random
import statistics

import pytest

from experiment.domain.arm_power import ArmContrast, Row, contrasts

N_PEOPLE, N_ITEMS, EACH = 40, 20, 10


def draw(rng: random.Random, effect: float = 0.1, by_item: float = 0.0) -> list[Row]:
    """Two arms; the second is right more often by `effect`, and on each test case by as much as it varies."""
    people = [rng.uniform(-0.1, 0.1) for _ in range(N_PEOPLE)]
    items = [rng.uniform(-by_item, by_item) for _ in range(N_ITEMS)]
    rows = []
    for person, own in enumerate(people):
        is_second = person % 2 == 1
        for item in rng.sample(range(N_ITEMS), EACH):
            p = 0.6 + own + (effect + items[item] if is_second else 0)
            rows.append(("ab"[is_second], person, item, rng.random() < p))
    return rows


def contrast(rows: list[Row]) -> ArmContrast:
    (found,) = contrasts(rows, ["a", "b"], "a")
    return found


@pytest.mark.parametrize("by_item", [0.0, 0.2])
def test_the_error_is_what_differences_vary_by(by_item: float) -> None:
    rng = random.Random(5)
    found = [contrast(draw(rng, by_item=by_item)) for _ in range(200)]
    varies = statistics.stdev(one.difference for one in found)
    assert statistics.fmean(one.se(N_PEOPLE) for one in found) == pytest.approx(varies, rel=0.2)
    assert statistics.fmean(one.difference for one in found) == pytest.approx(0.1, abs=0.02)


def test_the_interval_of_a_difference_is_that_of_the_dry_run_itself() -> None:
    rng = random.Random(7)
    ends = [contrast(draw(rng)).ci95 for _ in range(200)]
    assert statistics.fmean(low < 0.1 < high for low, high in ends) == pytest.approx(0.95, abs=0.04)


def test_more_people_bring_power_up_to_what_the_test_cases_allow() -> None:
    one = ArmContrast("a", "b", 20, 20, 40, 0.1, 0.03, 0.03, 0.04, 20)
    assert one.power(40) < one.power(400) < one.power(4000)
    assert one.detectable(10**9) == pytest.approx(2.80 * (0.04 / 20) ** 0.5, rel=0.01)
    assert one.power(40) > ArmContrast("a", "b", 20, 20, 40, 0.05, 0.03, 0.03, 0.04, 20).power(40)


def test_the_power_for_the_detectable_difference_is_four_in_five() -> None:
    one = ArmContrast("a", "b", 20, 20, 40, 0.1, 0.03, 0.03, 0.0, 20)
    same = ArmContrast("a", "b", 20, 20, 40, one.detectable(200), 0.03, 0.03, 0.0, 20)
    assert same.power(200) == pytest.approx(0.8, abs=0.001)


def test_an_arm_without_people_is_left_out() -> None:
    rows = draw(random.Random(1))
    found = contrasts(rows, ["a", "b", "c"], "a")
    assert [(one.first, one.second) for one in found] == [("a", "b")]
    assert contrasts([], ["a", "b"], "a") == ()
