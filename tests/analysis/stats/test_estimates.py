"""The estimates that every chapter uses, against SciPy, the published numbers and a known truth."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.stats import NotEnough
from analysis.stats.estimates import (
    SHARES,
    binomial_interval,
    mcnemar,
    mean_of,
    paired_t,
    proportion,
    proportion_of_counts,
    score_interval,
    spearman,
    wilson,
)

decisions = st.lists(st.booleans(), min_size=1, max_size=60)


numbers = st.lists(st.integers(-50, 50), min_size=4, max_size=40)


@pytest.mark.parametrize(("k", "n", "method"), [(0, 5, "exact"), (1, 5, "exact"), (196, 200, "exact"), (5, 10, "wilson"), (641, 1011, "wilson")])  # fmt: skip
def test_the_interval_of_a_share_is_scipys(k, n, method):
    found = proportion(np.arange(n) < k)
    assert found.n == n
    assert found.n_correct == k
    expected = stats.binomtest(k, n).proportion_ci(method=method)
    assert found.ci95 == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert found.sem == pytest.approx(np.sqrt(k / n * (1 - k / n) / n))


def test_intervals_of_many_shares_are_those_of_each_one():
    low, high = binomial_interval([3, 0], [4, 0])
    assert (low[0], high[0]) == proportion([1, 1, 1, 0]).ci95
    assert np.isnan([low[1], high[1]]).all()
    assert np.isnan(wilson(0, 0)).all()


@pytest.mark.parametrize("n", [10, 12, 15, 20, 30, 60, 200])
def test_intervals_of_shares_hold_the_truth_also_near_certainty(n):
    """Exactly, over all counts; Wilson's hold .95 in 86% of samples of 15, and .98 in 90% of 20."""
    low, high = binomial_interval(np.arange(n + 1), n)
    for share in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99):
        chance = stats.binom.pmf(np.arange(n + 1), n, share)
        assert chance[(low <= share) & (share <= high)].sum() >= 0.93, share


def test_a_model_of_ties_has_the_error_of_its_points_and_not_of_as_many_tosses():
    """44 of 199 right and 101 tied: a binomial error would be .0354."""
    points = np.repeat([1, 0.5, 0], [44, 101, 54])
    found = proportion(points)
    assert (found.n_correct, found.n_ties) == (44, 101)
    assert found.accuracy == pytest.approx(points.mean())
    assert found.sem == pytest.approx(points.std() / np.sqrt(199))
    low, high = found.ci95
    assert 0.9 < (high - low) / (2 * 1.96 * found.sem) < 1.1


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
def test_the_interval_with_ties_is_that_of_right_minus_wrong(right, tied, wrong):
    """Its ends are where the score test of a paired difference (Tango 1998) is 1.96, the wrong ones' chance most likely there."""
    n = right + tied + wrong
    if not (n and tied):
        return
    low, high = score_interval(right, n, tied)
    assert 0 <= low < (right + tied / 2) / n < high <= 1
    mirrored = score_interval(wrong, n, tied)
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high), abs=1e-9)
    if right and wrong:
        for end in (low, high):
            d = 2 * end - 1
            q = np.linspace(max(0.0, -d), (1 - d) / 2, 200_001)[1:-1]
            likely = right * np.log(q + d) + wrong * np.log(q) + tied * np.log(1 - d - 2 * q)
            best = q[likely.argmax()]
            z = (right - wrong - n * d) / np.sqrt(n * (2 * best + d - d * d))
            assert abs(z) == pytest.approx(1.96, abs=2e-3)


@pytest.mark.parametrize("n", [10, 30, 200])
@pytest.mark.parametrize("ties", [0.0, 0.1, 0.3, 0.6, 0.9, 1.0])
def test_intervals_cover_accuracies_with_any_share_of_ties(n, ties):
    """Exactly, over all counts: 93% to 97% on average over accuracies, more only where few decisions are made."""
    covered = []
    for share in (0.5, 0.6, 0.7, 0.8, 0.9):  # of the decisions
        accuracy = share + ties * (0.5 - share)
        chances, inside = [], []
        for t in range(n + 1):
            of_t = stats.binom.pmf(t, n, ties)
            if of_t < 1e-7:
                continue
            for k in range(n - t + 1):
                chance = of_t * stats.binom.pmf(k, n - t, share)
                if chance > 1e-7:
                    low, high = score_interval(k, n, t)
                    chances.append(chance)
                    inside.append(low - 1e-12 <= accuracy <= high + 1e-12)
        covered.append(np.average(inside, weights=chances))
    assert np.mean(covered) > 0.93
    assert min(covered) > 0.91
    if n * (1 - ties) >= 15:
        assert np.mean(covered) < 0.97


def test_a_change_from_or_to_a_tie_is_half_a_change_in_mcnemars_test():
    rng = np.random.default_rng(2)
    before, after = rng.choice([0, 0.5, 1], (2, 9))
    change = after - before
    signs = np.array(np.meshgrid(*[[-1, 1]] * 9)).reshape(9, -1)
    sums = np.abs(change) @ signs
    expected = (np.abs(sums) >= abs(change.sum()) - 1e-9).mean()
    found = mcnemar(before, after)
    assert found.p == pytest.approx(expected)
    assert found.difference == pytest.approx(change.mean())
    whole = mcnemar([0, 0, 1, 0], [1, 1, 0, 1])
    assert whole.p == pytest.approx(stats.binomtest(3, 4).pvalue)


def test_counts_that_are_given_come_to_the_same():
    assert proportion_of_counts(2, 5, n_ties=1) == proportion([1, 1, 0.5, 0, 0])


def test_a_mean_has_scipys_standard_error_and_t_interval():
    values = np.array([0.2, 0.5, 0.9, 0.4])
    found = mean_of([*values, np.nan])
    assert found.sem == pytest.approx(stats.sem(values))
    expected = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert found.ci95 == pytest.approx(expected, rel=1e-12)


@given(numbers, st.integers(0, 1000))
def test_the_paired_test_is_scipys(x, seed):
    x = np.array(x, dtype=float)
    y = x + np.random.default_rng(seed).normal(0.3, 1, len(x))
    found, expected = paired_t(x, y), stats.ttest_rel(x, y)
    assert found.t == pytest.approx(expected.statistic, rel=1e-9)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.ci95 == pytest.approx(expected.confidence_interval(), rel=1e-7, abs=1e-12)
    assert found.d_z == pytest.approx(found.t / np.sqrt(found.n))
    variances = np.var(x, ddof=1) + np.var(y, ddof=1)
    assert found.d_av == pytest.approx((x - y).mean() / np.sqrt(variances / 2))


def test_equal_differences_have_no_t():
    found = paired_t([0.1, 0.2, 0.3], [0.2, 0.3, 0.4])
    assert np.isnan([found.t, found.p, found.d_z]).all()
    assert found.mean_difference == pytest.approx(-0.1)
    assert np.isnan(paired_t([1, 1, 1], 1).d_av)


def test_no_interval_leaves_what_shares_can_be_and_two_values_have_none():
    assert mean_of([1, 1, 0.4]).ci95[1] > 1
    assert mean_of([1, 1, 0.4], SHARES).ci95 == (0, 1)
    assert mean_of([0.9, 0.9, 0.7], SHARES).ci95 == (mean_of([0.9, 0.9, 0.7]).ci95[0], 1)
    assert mean_of([0.5, 0.6]).ci95 is None
    with pytest.raises(NotEnough, match="three pairs"):
        paired_t([0.5, 0.6], 0.4)


@given(decisions, st.randoms(use_true_random=False))
def test_mcnemars_p_is_the_binomial_one_of_the_decisions_that_changed(before, random):
    after = [random.random() < 0.6 for _ in before]
    found = mcnemar(before, after)
    changed = found.gained + found.lost
    assert found.p == pytest.approx(stats.binomtest(found.gained, changed).pvalue if changed else 1)
    assert found.difference == pytest.approx(np.mean(after) - np.mean(before))
    back = mcnemar(after, before)
    assert (back.gained, back.lost, back.p) == (found.lost, found.gained, found.p)
    assert back.ci95 == pytest.approx((-found.ci95[1], -found.ci95[0]))


@pytest.mark.parametrize("n", [12, 40])
def test_the_interval_of_a_change_holds_0_where_the_exact_test_does_not_tell_it_from_0(n):
    """And only there: with whole changes, and with those from or to a tie. Agresti and Min's own interval is surer than the test."""
    kinds = itertools.product(range(8), range(8), range(3), range(3))
    of = (dict(zip((1, -1, 0.5, -0.5), kind, strict=True)) for kind in kinds)
    changes = [
        np.repeat([*many, 0], [*many.values(), n - sum(many.values())])
        for many in of
        if sum(many.values()) <= n
    ]
    found = [mcnemar(np.zeros(n), change) for change in changes]
    holds = np.array([one.ci95[0] <= 0 <= one.ci95[1] for one in found])
    assert holds.tolist() == [one.p >= 0.05 for one in found]
    assert 0 < holds.sum() < len(holds)


def test_the_interval_of_a_change_covers_the_truth():
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(1000):
        cell = rng.choice(4, 80, p=[0.5, 0.2, 0.1, 0.2])
        low, high = mcnemar(np.isin(cell, [0, 2]), np.isin(cell, [0, 1])).ci95
        covered += low <= 0.1 <= high
    assert covered / 1000 == pytest.approx(0.95, abs=0.02)


@given(numbers, st.integers(0, 1000))
def test_a_rank_correlation_is_pearsons_of_mean_ranks_whatever_the_order_and_scale(x, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, len(x))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert np.isnan(spearman(x, y).rho)
        return
    found = spearman(x, y)
    expected = np.corrcoef(stats.rankdata(x), stats.rankdata(y))[0, 1]
    assert found.rho == pytest.approx(expected, abs=1e-12)
    order = rng.permutation(len(x))
    assert spearman(np.exp(np.array(x) / 9.0)[order], y[order]).rho == pytest.approx(found.rho)
    assert found.ci95 is None or found.ci95[0] <= found.rho <= found.ci95[1]


@given(st.integers(3, 7), st.integers(1, 6), st.integers(0, 1000))
def test_p_of_few_pairs_is_that_of_all_their_permutations(n, n_values, seed):
    x, y = np.random.default_rng(seed).integers(0, n_values + 1, (2, n))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return
    found = spearman(x, y)
    expected = stats.permutation_test(
        (x,),
        lambda x: stats.spearmanr(x, y).statistic,
        permutation_type="pairings",
        n_resamples=np.inf,
    )
    both = np.abs(expected.null_distribution) >= abs(found.rho) - 1e-9
    has_interval = found.ci95 is not None and found.ci95[0] <= 0 <= found.ci95[1]
    assert found.p == pytest.approx(max(both.mean(), 0.05 * has_interval))


def test_p_of_a_perfect_rank_correlation_is_the_chance_of_that_order_or_its_reverse():
    order = np.arange(10)
    for other in (order, -order):
        assert spearman(order, other).p == pytest.approx(2 / math.factorial(10))
    in_two = order < 5
    assert spearman(in_two, ~in_two).p == pytest.approx(2 / math.comb(10, 5))
    uneven = order < 3  # no order of it is its reverse
    assert spearman(uneven, uneven).p == pytest.approx(1 / math.comb(10, 3))
    assert spearman(order, np.r_[1, 0, order[2:]]).p < 0.001


def test_the_interval_of_a_rank_correlation_covers_the_truth():
    rng = np.random.default_rng(11)
    truth = 6 / np.pi * np.arcsin(0.6 / 2)  # Spearman's rho of a bivariate normal with r = .6
    covered = 0
    for _ in range(500):
        x = rng.normal(size=100)
        low, high = spearman(x, 0.6 * x + 0.8 * rng.normal(size=100)).ci95
        covered += low <= truth <= high
    assert covered / 500 == pytest.approx(0.95, abs=0.025)
