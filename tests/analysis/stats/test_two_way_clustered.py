"""Two-way clustered errors, against statsmodels."""

from functools import partial

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from analysis.stats.estimates import mean_of, paired_t
from analysis.stats.two_groups import PeopleError, paired_groups
from analysis.stats.two_way_clustered import (
    Deviations,
    clustered,
    covariance,
    of_changes,
    over_items,
    two_way,
)
from tests.analysis.made import arrays, make_data


def test_the_two_way_error_is_that_of_statsmodels_two_way_clustering():
    data = make_data(seed=4, n_participants=60, n_items=25, sd_participants=1.5, sd_items=1.5)
    who, item, right = arrays(data)
    model = sm.OLS(right, np.ones(len(right)))
    clustered = model.fit(cov_type="cluster", cov_kwds={"groups": np.column_stack([who, item])})
    assert two_way(who, item, right).se == pytest.approx(clustered.bse[0], rel=1e-9)


def test_the_difference_from_models_pairs_them_with_people_on_the_same_items():
    """Humans who answer as the models do, item by item, differ from them by nothing at all."""
    share = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    who, item = np.repeat(np.arange(4), 6), np.tile(np.arange(6), 4)
    found = two_way(who, item, share[item], share)
    alone = two_way(who, item, share[item])
    assert found.estimate == pytest.approx(0, abs=1e-12)
    assert found.se < alone.se
    assert two_way(who, item, share[item], np.full(6, 0.5)).se == pytest.approx(alone.se)


def crossed(right, n_people=8):
    """Trials of n_people on each of the items, whose share of right ones (items,) is given."""
    who = np.repeat(np.arange(n_people), len(right))
    ahead = np.tile(np.arange(len(right)), n_people)
    return who, ahead, (who < np.round(np.asarray(right)[ahead] * n_people)).astype(float)


@pytest.mark.parametrize("models", [0.5, 0.75, 1.0])
def test_people_who_are_all_right_do_not_make_a_difference_surer_than_they_are_themselves(models):
    who, item, right = crossed(np.ones(20))
    known = Deviations.of(who, item, right)
    people, share = known.accuracy_error(), (np.arange(20) < 20 * models).astype(float)
    found = known.difference_error(share)
    assert (people.se, found.estimate) == (0, models - 1)
    assert found.ci95[1] - found.estimate >= people.estimate - people.share_ci95[0] > 0.1


def test_where_both_are_all_right_the_difference_is_nothing_within_an_interval():
    found = two_way(*crossed(np.ones(20)), np.ones(20))
    assert (found.estimate, found.p) == (0, 1)
    low, high = found.ci95
    assert low < -0.17  # 20 items of models
    assert high > 0.3  # 8 people


def test_p_is_below_a_twentieth_where_the_interval_leaves_out_zero():
    rng = np.random.default_rng(1)
    seen = []
    for _ in range(200):
        who, item, right = crossed(rng.choice([1, 1, 1, 0.75], 12))
        found = two_way(who, item, right, (rng.random(12) < rng.random()).astype(float))
        low, high = found.ci95
        assert (found.p < 0.05) == (low > 0 or high < 0)
        seen.append(found.p < 0.05)
    assert any(seen)
    assert not all(seen)


def test_away_from_the_edges_a_difference_is_what_its_standard_error_says():
    who, item, right = crossed(np.tile([1, 0.5], 10))
    found = two_way(who, item, right, np.tile([1.0, 0.0, 1.0, 0.0], 5))
    assert not found.from_parts
    assert sum(found.ci95) / 2 == pytest.approx(found.estimate)


@pytest.mark.parametrize("ties", [0.3, 0.9, 0.98])
def test_an_accuracy_of_mostly_ties_holds_the_truth_as_often_as_one_without(ties: float) -> None:
    rng, right = np.random.default_rng(5), 0.9
    drawn = rng.choice(
        [0.5, 1.0, 0.0], (1000, 200), p=[ties, *(1 - ties) * np.r_[right, 1 - right]]
    )
    ends = np.array([over_items(one).share_ci95 for one in drawn])
    truth = ties / 2 + (1 - ties) * right
    assert np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])) >= 0.93


def some_models(n_items: int = 60, each: tuple[int, ...] = (60, 45, 30)) -> np.ndarray:
    rng = np.random.default_rng(3)
    x = (rng.random((len(each), n_items)) < np.clip(rng.normal(0.6, 0.2, n_items), 0, 1)) * 1.0
    for row, n in zip(x, each, strict=True):
        row[rng.permutation(n_items)[n:]] = np.nan
    return x


def test_the_error_of_a_mean_of_models_is_of_that_mean_where_they_decided_other_items():
    """By infinitesimal jackknife: an item with a little more weight moves the mean of the accuracies by its deviation."""
    x = some_models()
    found, n = over_items(x), x.shape[1]

    def mean(weights):
        decided = np.isfinite(x)
        return (np.nansum(x * weights, axis=1) / (decided * weights).sum(axis=1)).mean()

    step = 1e-6
    moved = [(mean(1 + step * np.eye(n)[i]) - mean(np.ones(n))) / step for i in range(n)]
    assert found.estimate == pytest.approx(mean(np.ones(n)))
    assert found.se == pytest.approx(np.sqrt(n / (n - 1) * np.square(moved).sum()), rel=1e-4)
    assert not found.from_parts
    who, item, right = crossed(np.tile([1, 0.5, 0.75], 20))
    gap = two_way(who, item, right, x)
    assert gap.estimate == pytest.approx(found.estimate - right.mean())
    assert sum(gap.ci95) / 2 == pytest.approx(gap.estimate)


def test_models_of_the_same_items_are_as_one_that_has_their_share():
    x = some_models(each=(60, 60, 60))
    x[:, :7] = np.nan
    alike = over_items(x.mean(axis=0))
    assert over_items(x).se == pytest.approx(alike.se, rel=1e-12)
    assert over_items(x).share_ci95 == pytest.approx(alike.share_ci95, rel=1e-9)


def test_models_that_differ_on_an_item_do_not_tie_on_it():
    """Two models have item means of 1/2, three do not: both are shares of so many independent decisions."""
    x = np.array([[1.0, 0, 1, 0, 1, 0, 1, 1], [1.0, 1, 1, 0, 0, 0, 1, 1]])
    found = over_items(x)
    n = found.estimate * (1 - found.estimate) / found.se**2
    t = stats.t.ppf(0.975, 7)
    middle, half = (found.estimate + t**2 / (2 * n)), t * np.sqrt(found.estimate * (1 - found.estimate) / n + t**2 / (4 * n**2))  # fmt: skip
    wilson = (middle - half) / (1 + t**2 / n), (middle + half) / (1 + t**2 / n)
    assert found.share_ci95 == pytest.approx(wilson)
    tied = over_items(x.mean(axis=0))
    assert tied.ties == 0.25
    assert tied.share_ci95 != pytest.approx(wilson)


def test_a_mean_is_no_surer_than_models_that_decided_few_items_let_it_be():
    x = np.full((4, 40), np.nan)
    x[0], x[1:, 1:7] = np.tile([0.0, 1.0], 20), 1.0
    found = over_items(x)
    low, high = found.share_ci95
    assert low < 0.875 - 0.75 * (1 - over_items(x[1]).share_ci95[0])
    assert 0.875 < high <= 1
    x[3, 3:] = np.nan  # two items say nothing of how others would differ
    assert not over_items(x).is_known
    assert not two_way(*crossed(np.tile([1, 0.5], 20)), x).is_known


def test_changes_are_uncertain_where_none_was_seen_and_where_all_were():
    for value in (0.0, 1.0, -1.0, 0.5):
        found = of_changes(np.full(20, value), over_items, np.arange(20))
        assert found.se == 0
        assert found.ci95[1] - found.ci95[0] > 0.07
    assert found.p < 0.05


def test_changes_on_few_test_cases_are_as_uncertain_as_these_and_not_as_their_trials():
    """Fifty people on 20 test cases, of which 2 are the ones that change: how many of other 20 would is not known to a point."""
    who, item = np.repeat(np.arange(50), 20), np.tile(np.arange(20), 50)
    low, high = of_changes((item < 2).astype(float), partial(two_way, who, item), item).ci95
    assert low < 0.03 < 0.25 < high
    scattered = np.random.default_rng(1).permutation((item < 2).astype(float))
    low, high = of_changes(scattered, partial(two_way, who, item), item).ci95
    assert 0.07 < low < high < 0.13


def test_values_that_are_all_equal_do_not_tell_how_others_vary():
    assert mean_of([0.9, 0.9, 0.9]).ci95 is None
    assert paired_t([1, 1, 1], 0.9).ci95 is None
    people = [PeopleError(10, 0.0, 0.0)] * 2
    low, high = paired_groups(np.ones(10), np.ones(10), people).ci95
    assert low < -0.1 < 0.1 < high


@pytest.mark.parametrize("n", [6, 9])
def test_no_sum_is_surer_than_independent_trials_would_make_it(n):
    """Each person and each item has the same share right, so that neither seems to vary."""
    person, item = (axis.ravel() for axis in np.indices((n, n)))
    right = ((person + item) % 3 != 0).astype(float)
    errors = ((right - right.mean()) / len(right))[:, None]
    found = covariance(errors, [person, item])[0, 0]
    assert found == pytest.approx(two_way(person, item, right).se ** 2, rel=1e-9)
    assert found == pytest.approx(right.var(ddof=1) / len(right), rel=1e-9)


def test_a_standard_error_of_rounding_is_none():
    """Halves in each of 5 clusters, as sums leave them."""
    found = clustered(0.5, 1e-17, 5)
    assert (found.se, found.within(0.0, 1.0)) == (0.0, None)
    assert found.share_ci95[1] - found.share_ci95[0] > 0.6
