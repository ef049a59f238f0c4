"""Two groups of people: differences on the same test cases, where people vary too."""

import numpy as np
import pytest
from scipy.special import expit

from analysis.stats import NotEnough
from analysis.stats.two_groups import PeopleError, paired_groups
from analysis.stats.two_way_clustered import Deviations

N = 400


def judged(rng, n_people, sd_people, ease):
    who, item = np.repeat(np.arange(n_people), len(ease)), np.tile(np.arange(len(ease)), n_people)
    right = rng.random(len(who)) < expit(
        0.6 + sd_people * rng.normal(size=n_people)[who] + ease[item]
    )
    parts = Deviations.of(who, item, right)
    people = PeopleError(n_people, parts.between_people, parts.at_random)
    return np.bincount(item, right) / n_people, people


@pytest.mark.parametrize(
    ("n_people", "n_items", "sd_people"), [(20, 20, 0.4), (20, 20, 1.0), (10, 60, 0.8)]
)
def test_two_groups_of_the_same_people_at_large_rarely_differ(n_people, n_items, sd_people):
    rng = np.random.default_rng([n_people, n_items])
    rejected = 0
    for _ in range(N):
        ease = 0.8 * rng.normal(size=n_items)
        (first, a), (second, b) = (judged(rng, n_people, sd_people, ease) for _ in range(2))
        rejected += paired_groups(first, second, (a, b)).p < 0.05
    # 400 draws: standard error 1.1 points; with people taken as fixed 12, 36 and 20%
    assert 0.02 <= rejected / N <= 0.085


def test_a_difference_of_15_points_is_found():
    rng = np.random.default_rng(1)
    ease, found = 0.8 * rng.normal(size=40), 0
    for _ in range(100):
        (first, a), (second, b) = (judged(rng, 40, 0.4, ease + more) for more in (0.0, 0.75))
        found += paired_groups(first, second, (a, b)).p < 0.05
    assert found >= 95


def test_without_variance_between_people_it_is_the_paired_t_test():
    from scipy import stats

    first, second = np.array([0.5, 0.7, 0.9, 0.4]), np.array([0.6, 0.9, 0.9, 0.7])
    found = paired_groups(first, second, [PeopleError(20, 0.0, 0.01)] * 2)
    known = stats.ttest_rel(second, first)
    # Few test cases changed, so the interval is never surer than that
    assert found.se == pytest.approx((second - first).std(ddof=1) / 2)
    assert found.df == pytest.approx(3)
    assert found.p >= known.pvalue


def test_fewer_than_three_shared_test_cases_have_no_interval():
    with pytest.raises(NotEnough):
        paired_groups([0.5, np.nan, 0.4], [0.5, 0.4, 0.1], [PeopleError(9, 0.0, 0.01)] * 2)
