"""When something will have happened often enough: against the F distribution, and against events that then happen."""

import random

import pytest
from scipy.stats import f

from experiment.domain.forecast import MIN_EVENTS, wait_for


@pytest.mark.parametrize("n_more", [1, 10, 200])
@pytest.mark.parametrize("n_seen", [5, 20, 100])
def test_the_limits_are_those_of_the_f_distribution_where_events_come_steadily(
    n_more: int, n_seen: int
) -> None:
    wait = wait_for(n_more, [60.0] * (n_seen + 1))
    assert wait is not None
    low, high = f.ppf([0.025, 0.975], 2 * n_more, 2 * n_seen) * wait.expected_s
    assert wait.high_s == pytest.approx(high, rel=0.02)
    assert wait.low_s == pytest.approx(low, rel=0.05, abs=0.02 * wait.expected_s)
    assert wait.expected_s == pytest.approx(n_more * 60 * (n_seen + 1) / n_seen)


def test_nineteen_of_twenty_forecasts_hold() -> None:
    rng = random.Random(4)
    held = 0
    for _ in range(400):
        wait = wait_for(30, [rng.expovariate(1) for _ in range(41)])
        if wait is not None:
            held += wait.low_s <= sum(rng.expovariate(1) for _ in range(30)) <= wait.high_s
    assert 365 <= held <= 400  # at most about 2% of runs would fall outside by chance


def test_bursts_make_the_interval_wider_and_then_impossible() -> None:
    steady = wait_for(20, [100.0] * 41)
    nights = wait_for(20, ([60.0] * 9 + [460.0]) * 4 + [100.0])
    assert steady is not None
    assert nights is not None
    assert nights.high_s / nights.expected_s > steady.high_s / steady.expected_s
    assert nights.low_s / nights.expected_s < steady.low_s / steady.expected_s
    assert wait_for(20, [1.0] * 40 + [100_000.0]) is None  # they stopped coming


@pytest.mark.parametrize("gaps", [[], [5.0], [1.0] * MIN_EVENTS, [0.0] * 50])
def test_nothing_is_said_from_too_little(gaps: list[float]) -> None:
    assert wait_for(3, gaps) is None
