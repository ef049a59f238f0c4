"""The measures of reliance on trials that can be counted by hand, and against other ways to compute them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from analysis.stats import MissingResult, NotEnough
from analysis.stats.reliance import measures
from analysis.stats.reliance.confidence import before_and_after, time_ratio, typical_seconds
from analysis.stats.reliance.moderators import accuracy_model, switching_model
from analysis.stats.reliance.realised import realised
from analysis.stats.reliance.trials import (
    AFTER,
    BEFORE,
    NONE,
    AdvisedTrials,
    change,
    difference,
    mean,
    share,
)
from analysis.stats.two_way_clustered import of_errors
from analysis.stats.verdicts import Verdict
from tests.analysis.stats.reliance.planted import draw

NAN = math.nan
# First answer right, advice right, final answer right; twelve trials of four people on three test cases
FIRST = [1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1]
ADVICE = [1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1]
FINAL = [1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0]


def trials_of(first, advice, final, procedure=AFTER, **others) -> AdvisedTrials:
    n = len(final)
    known = {
        "participant": np.arange(n) // 3,
        "item": np.arange(n) % 3,
        "arm": np.full(n, procedure, dtype=object),
        "procedure": np.full(n, procedure, dtype=object),
        "right_before": np.asarray(first, dtype=float),
        "right_after": np.asarray(final, dtype=float),
        "advice_right": np.asarray(advice, dtype=float),
    }
    rest = [name for name in AdvisedTrials.__dataclass_fields__ if name not in known]
    return AdvisedTrials(**(known | {name: np.full(n, NAN) for name in rest} | others))


@pytest.fixture
def counted():
    return trials_of(FIRST, ADVICE, FINAL)


def test_shares_are_those_that_are_counted_by_hand(counted):
    def value(of):
        return of(counted).n, of(counted).value

    assert value(measures.agreement) == (12, pytest.approx(7 / 12))
    assert value(measures.switching) == (7, pytest.approx(4 / 7))
    assert value(measures.relative_ai_reliance) == (4, 0.75)
    assert value(measures.relative_self_reliance) == (3, pytest.approx(2 / 3))
    assert value(measures.overreliance) == (5, pytest.approx(2 / 5))
    assert value(measures.underreliance) == (7, pytest.approx(2 / 7))


def test_the_flow_has_each_trial_once_and_gives_the_shares_again(counted):
    cells = measures.flow(counted)
    assert sum(cell.n for cell in cells) == 12
    assert sum(cell.n for cell in cells if cell.is_final_right) == sum(FINAL)
    corrected = next(
        cell
        for cell in cells
        if not cell.is_first_right and cell.is_advice_right and not cell.is_kept
    )
    assert (corrected.n, corrected.share) == (3, 0.75)


def test_advice_beside_the_abstracts_has_no_first_answer_but_over_and_underreliance(counted):
    beside = trials_of([NAN] * 12, ADVICE, FINAL, BEFORE)
    for measure in (measures.agreement, measures.overreliance, measures.underreliance):
        assert measure(beside) == measure(counted)
    for measure in (
        measures.switching,
        measures.relative_ai_reliance,
        measures.relative_self_reliance,
        measures.flow,
        measures.weight_of_advice,
        before_and_after,
    ):
        with pytest.raises(NotEnough):
            measure(beside)


def test_people_without_advice_agree_with_it_by_chance_and_rely_on_nothing():
    alone = trials_of([NAN] * 12, ADVICE, FINAL, NONE)
    assert not alone.is_advised.any()
    assert measures.agreement(alone).n == 12
    with pytest.raises(NotEnough):
        measures.relative_ai_reliance(alone)


def test_sensitivity_is_that_of_corrected_shares(counted):
    own = measures.detection(counted)
    hits, false_alarms = (5 + 0.5) / (7 + 1), (2 + 0.5) / (5 + 1)
    z = stats.norm.ppf
    assert (own.hits, own.false_alarms) == (hits, false_alarms)
    assert own.d_prime == pytest.approx(z(hits) - z(false_alarms))
    assert own.criterion == pytest.approx(-(z(hits) + z(false_alarms)) / 2)
    assert own.d_prime_ci95[0] < own.d_prime < own.d_prime_ci95[1]


def test_the_error_of_sensitivity_is_that_of_independent_trials_where_each_has_its_own_cluster():
    planted = draw(3).trials
    n = len(planted)
    apart = replace(planted, participant=np.arange(n), item=np.arange(n))
    own = measures.detection(apart)
    z, density = stats.norm.ppf, stats.norm.pdf
    variance = sum(
        p * (1 - p) / n_of / density(z(p)) ** 2
        for p, n_of in ((own.hits, own.n_right), (own.false_alarms, own.n_wrong))
    )
    se = (own.d_prime_ci95[1] - own.d_prime) / stats.t.ppf(0.975, n - 1)
    assert se == pytest.approx(math.sqrt(variance), rel=0.01)


def test_sensitivity_is_no_surer_than_the_few_test_cases_with_wrong_advice():
    trials = draw(3, 60, 10, 9).trials
    few = replace(trials, advice_right=(trials.item >= 3).astype(float))
    own, errors = measures.detection(few), np.zeros(len(few))
    for of, corrected, sign in (
        (few.advice_right == 1, own.hits, 1),
        (few.advice_right == 0, own.false_alarms, -1),
    ):
        of_share = (few.follows - few.follows[of].mean()) / (of.sum() + 1)
        errors[of] = sign * of_share[of] / stats.norm.pdf(stats.norm.ppf(corrected))
    se = of_errors(own.d_prime, errors, few.participant, few.item).se
    assert np.ptp(own.d_prime_ci95) == pytest.approx(2 * stats.t.ppf(0.975, 2) * se)
    two = replace(trials, advice_right=(trials.item >= 2).astype(float))
    assert measures.overreliance(two).ci95 is None
    assert measures.detection(two).d_prime_ci95 is None


def test_people_who_always_follow_have_no_sensitivity_and_an_interval():
    follow = trials_of(FIRST, ADVICE, ADVICE)
    own = measures.detection(follow)
    assert abs(own.d_prime) < 0.3
    assert own.criterion < -1
    assert own.d_prime_ci95[0] < 0 < own.d_prime_ci95[1]


def weighed(final_of, n_people=30, n_items=20, each=10, seed=1):
    """Weight of advice in trials whose final confidence is final_of(first, advice, rng), all signed by side."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n_people), each)
    item = np.concatenate([rng.permutation(n_items)[:each] for _ in range(n_people)])
    right, n = (rng.random(len(who)) < 0.65).astype(float), len(who)
    advice_right = (np.arange(n_items) < 0.75 * n_items).astype(float)[item]
    p = rng.uniform(0.55, 0.95, n_items)[item]
    first = (2 * right - 1) * rng.integers(5, 80, n)
    final = final_of(first, (2 * advice_right - 1) * 100 * (2 * p - 1), rng)
    trials = trials_of(
        right,
        advice_right,
        (final > 0).astype(float),
        participant=who,
        item=item,
        p_shown=p,
        confidence_before=np.abs(first),
        confidence_after=np.abs(final),
    )
    own = measures.weight_of_advice(trials)
    # As the only test of its family
    return replace(own, p_holm=own.slope.p)


def test_the_weight_of_advice_is_nothing_for_the_stubborn_and_all_for_who_copies():
    for share_moved in (0.0, 0.5, 1.0):
        own = weighed(lambda first, advice, rng, w=share_moved: first + w * (advice - first))
        assert own.slope.value == pytest.approx(share_moved)
        assert own.limited.value == pytest.approx(share_moved)
        # Everybody moves alike, which does not tell how others would
        assert own.slope.ci95 is None
        assert own.verdict is Verdict.TOO_FEW


def test_few_changes_of_confidence_are_too_few_to_say_what_advice_does():
    def revised(n):
        def final(first, advice, rng):
            return first + np.where(np.arange(len(first)) < n, 20.0, 0.0) * np.sign(advice - first)

        return weighed(final)

    assert (revised(4).n_changed, revised(4).slope.ci95) == (4, None)
    assert revised(4).verdict is Verdict.TOO_FEW
    assert revised(60).verdict is Verdict.ABOVE


@pytest.mark.parametrize("surer", [0.0, 0.2])
@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_useless_advice_has_no_weight_and_other_advice_its_own_also_if_people_get_surer(
    weight, surer
):
    """The limited mean is .13 without any weight; a slope on advice minus first answer is .08 too low where people get surer."""

    def final(first, advice, rng):
        moved = weight * (advice - first) + surer * first + rng.normal(0, 10, len(first))
        return np.clip(first + moved, -100, 100)

    found = [weighed(final, seed=seed) for seed in range(60)]
    slopes = np.array([one.slope.value for one in found])
    holds = [one.slope.ci95[0] <= weight <= one.slope.ci95[1] for one in found]
    assert abs(slopes.mean() - weight) < 0.01
    assert np.mean(holds) >= 0.87
    if not weight:
        assert all(one.limited.value > 0.05 and one.limited.ci95 is None for one in found)
        assert np.mean([one.verdict is Verdict.UNCLEAR for one in found]) >= 0.87


def test_advice_that_is_all_alike_has_no_weight_to_tell():
    with pytest.raises(NotEnough, match="alike"):
        measures.weight_of_advice(
            trials_of(
                np.ones(12),
                np.ones(12),
                np.ones(12),
                p_shown=np.full(12, 0.9),
                confidence_before=np.linspace(10, 60, 12),
                confidence_after=np.linspace(20, 65, 12),
            )
        )


def test_means_of_values_that_are_nearly_all_equal_have_no_interval(counted):
    n = 120
    trials = trials_of(np.zeros(n), np.ones(n), np.ones(n))
    trials = replace(trials, participant=np.arange(n) // 6, item=np.arange(n) % 24)
    for n_other in (0, 4):
        found = mean(trials, np.where(np.arange(n) < n_other, 0.5, 0.0))
        assert (found.ci95, found.p) == (None, None)
    assert mean(trials, np.where(np.arange(n) < 5, 0.5, 0.0)).ci95
    sure = np.full(n, 60.0)
    both = before_and_after(
        replace(trials, right_after=np.zeros(n), confidence_before=sure, confidence_after=sure)
    )
    assert (both.change_brier.value, both.change_brier.ci95) == (0, None)
    assert both.change_overconfidence.ci95[1] > 0.05


def test_a_change_of_side_moves_confidence_through_zero():
    own = measures.weight_of_advice(
        trials_of(
            [0, 0, 0, 1],
            [1, 1, 0, 0],
            [1, 1, 0, 1],
            p_shown=np.full(4, 0.9),
            confidence_before=np.full(4, 40.0),
            confidence_after=np.array([20.0, 20.0, 60.0, 40.0]),
        )
    )
    assert own.limited.value == pytest.approx(np.mean([60 / 120, 60 / 120, 20 / 40, 0]))


def test_advice_that_is_a_guess_is_one_on_the_scale_of_ratings():
    own = measures.weight_of_advice(
        trials_of(
            [1, 1, 1, 0],
            [0, 1, 1, 1],
            [1, 1, 1, 0],
            p_shown=np.array([0.5, 0.5, 0.9, 0.5]),
            confidence_before=np.array([40.0, 40.0, 80.0, 3.0]),
            confidence_after=np.array([1.0, 20.0, 80.0, 3.0]),
        )
    )
    # All the way to a guess but one point, and half of it; 90% is a rating of 80
    assert (own.limited.n, own.n_near) == (2, 2)
    assert own.limited.value == pytest.approx((39 / 40 + 20 / 40) / 2)


def test_near_the_advice_there_is_no_weight_and_beyond_it_weights_are_limited():
    right = np.ones(5)
    own = measures.weight_of_advice(
        trials_of(
            right,
            [1, 1, 1, 1, 0],
            right,
            p_shown=np.full(5, 0.9),
            confidence_before=np.array([78.0, 40.0, 40.0, 40.0, 40.0]),
            confidence_after=np.array([50.0, 100.0, 30.0, 60.0, 40.0]),
        )
    )
    assert (own.n_near, own.n_limited, own.limited.n) == (1, 2, 4)
    assert own.limited.value == pytest.approx((1 + 0 + 0.5 + 0) / 4)
    # Of equal first answers of 40, a mean of 63.3 after advice of 80, and of 40 after advice of -80
    assert own.slope.value == pytest.approx((190 / 3 - 40) / 160)


def test_the_share_that_is_realised_is_a_ratio_of_gains_with_fiellers_interval():
    rng = np.random.default_rng(4)
    n = 400
    apart = trials_of([1] * n, [1] * n, [1] * n)
    apart = replace(apart, participant=np.arange(n), item=np.arange(n))
    first = (rng.random(n) < 0.6).astype(float)
    team = np.where(rng.random(n) < 0.5, 1.0, first)
    final = np.where(rng.random(n) < 0.6, team, first)
    own = realised(apart, first, final, team)
    real, possible = final - first, team - first
    assert own.share == pytest.approx(real.sum() / possible.sum())
    assert own.share_ci95 == pytest.approx(fieller(real, possible), rel=1e-6)
    assert own.unused.value == pytest.approx(float((team - final).mean()))


def fieller(x, y):
    """The closed form, of independent pairs."""
    n = len(x)
    (xx, xy), (_, yy) = np.cov(x, y) / n
    t = stats.t.ppf(0.975, n - 1)
    a, b, c = (
        y.mean() ** 2 - t**2 * yy,
        -2 * (x.mean() * y.mean() - t**2 * xy),
        x.mean() ** 2 - t**2 * xx,
    )
    root = math.sqrt(b**2 - 4 * a * c)
    return ((-b - root) / (2 * a), (-b + root) / (2 * a))


def test_without_a_computed_gain_there_is_no_share_of_it(counted):
    own = realised(counted, FIRST, FINAL, FIRST)
    assert isinstance(own.share, MissingResult)
    assert own.share_ci95 is None
    assert own.real.value == pytest.approx((sum(FINAL) - sum(FIRST)) / 12)
    # One that a few test cases may have brought by chance has a share, but no interval
    unclear = realised(counted, FIRST, FINAL, [*FIRST[:-2], 1, 1])
    assert unclear.share == pytest.approx((sum(FINAL) - sum(FIRST)) / 1)
    assert unclear.share_ci95 is None


def test_a_difference_between_arms_is_paired_by_test_case():
    planted = draw(5)
    trials, advised = planted.trials, planted.is_advised
    own = difference(trials, trials.right_after, advised)
    first, second = (
        share(trials.of(~advised), trials.right_after[~advised]),
        share(trials.of(advised), trials.right_after[advised]),
    )
    assert own.value == pytest.approx(second.value - first.value)
    # The same difference where the test cases of the second arm are others is less sure
    others = replace(trials, item=np.where(advised, trials.item + 60, trials.item))
    wider = difference(others, trials.right_after, advised)
    assert np.ptp(wider.ci95) > np.ptp(own.ci95)
    with pytest.raises(NotEnough):
        difference(trials, trials.right_after, np.zeros(len(trials), dtype=bool))


def test_fewer_than_three_people_have_no_interval(counted):
    two = counted.of(counted.participant < 2)
    assert measures.agreement(two).ci95 is None
    assert mean(two, two.right_after).p is None
    assert measures.detection(two).d_prime_ci95 is None


def test_calibration_changes_on_the_same_trials(counted):
    rated = replace(
        counted, confidence_before=np.full(12, 20.0), confidence_after=np.full(12, 80.0)
    )
    own = before_and_after(rated)
    assert own.before.mean_probability == pytest.approx(0.6)
    assert own.after.mean_probability == pytest.approx(0.9)
    gain = (sum(FINAL) - sum(FIRST)) / 12
    assert own.change_overconfidence.value == pytest.approx(0.3 - gain)
    brier = np.mean((0.9 - np.array(FINAL)) ** 2) - np.mean((0.6 - np.array(FIRST)) ** 2)
    assert own.change_brier.value == pytest.approx(brier)


def test_times_are_geometric_means_and_their_ratio(counted):
    ms = np.where(np.arange(12) < 6, 10_000.0, 20_000.0)
    assert typical_seconds(counted, ms).seconds == pytest.approx(10 * math.sqrt(2))
    assert time_ratio(counted, ms, ms > 15_000).ratio == pytest.approx(2)
    assert typical_seconds(counted, np.where(ms > 15_000, np.nan, ms)).n == 6
    with pytest.raises(NotEnough):
        typical_seconds(counted, np.full(12, NAN))


def test_models_say_when_there_are_too_few_trials(counted):
    rated = replace(counted, position=np.arange(12.0))
    with pytest.raises(NotEnough, match="at least"):
        switching_model(rated)
    with pytest.raises(NotEnough, match="one condition"):
        accuracy_model(rated, ["a"] * 12, "a")
    with pytest.raises(NotEnough):
        switching_model(counted.of(np.zeros(12, dtype=bool)))


def test_arms_that_are_always_right_differ_by_nothing_within_an_interval():
    """Nor does advice that nobody follows change accuracy, or the calibration of who is always right, by nothing for sure."""
    n = 36
    trials = trials_of(np.ones(n), np.zeros(n), np.ones(n))
    trials = replace(trials, participant=np.arange(n) // 3, item=np.arange(n) % 6)
    for found in (
        difference(trials, trials.right_after, trials.participant < 6),
        change(trials, trials.right_after - trials.right_before),
        realised(trials, np.ones(n), np.ones(n), np.ones(n)).unused,
    ):
        assert (found.value, found.p) == (0, 1)
        assert found.ci95[0] < -0.15 < 0.15 < found.ci95[1]
    sure = np.full(n, 90.0)
    both = before_and_after(replace(trials, confidence_before=sure, confidence_after=sure))
    low, high = both.before.overconfidence.ci95
    assert low < 0 < 0.2 < high
    assert both.change_overconfidence.ci95[1] > 0.15


def test_a_gain_of_which_people_realise_nothing_is_realised_by_nothing_within_an_interval():
    first = np.tile([1.0, 0.0, 0.0], 40)
    trials = trials_of(first, np.ones(120), first)
    trials = replace(trials, participant=np.arange(120) // 6, item=np.arange(120) % 24)
    found = realised(trials, first, first, np.ones(120))
    assert found.share == 0
    assert found.share_ci95[0] < -0.05 < 0.05 < found.share_ci95[1]
