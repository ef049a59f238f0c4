"""Effects planted in answers are found again: accuracy, preference for a side, calibration, paired difference."""

import numpy as np
import pytest

from analysis.data.choices import decisions
from analysis.stats import NotEnough
from analysis.stats.choices import (
    asked_or_scored,
    clustered_share,
    consistency,
    position,
    stated,
)
from analysis.stats.verdicts import Verdict
from tests.analysis.asked_made import answers_of

N_ITEMS = 200


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, dtype=float)))


def margins_of(seed, n=N_ITEMS, mean=0.8, sd=1.0):
    return np.random.default_rng(seed).normal(mean, sd, n)


def position_of(answers):
    read = answers[answers["is_read"]]
    return position(read["original_side"] == "A", read["side"], read["log_odds"], read["item"])


def towards(answers):
    return (answers["side"] == answers["original_side"]).to_numpy(dtype=float)


def share_a(margins, bias):
    """The planted share of A: the mean over both orders."""
    return float((sigmoid(margins + bias) + sigmoid(-margins + bias)).mean() / 2)


def test_a_model_that_always_says_a_is_at_half_and_is_called_so():
    answers = answers_of(margins_of(1), bias=50.0)
    found = position_of(answers)
    assert found.p < 1e-6
    assert found.answers.share == 1.0
    assert found.answers.ci95[0] < 1.0 == found.answers.ci95[1]
    decided = decisions(answers)
    assert set(decided["points"]) == {0.5}
    with pytest.raises(NotEnough):
        consistency([], [])
    one_order = [np.ones(N_ITEMS), -np.ones(N_ITEMS)]
    assert consistency(*one_order).accuracy == 0.0


@pytest.mark.parametrize("bias", [-1.0, 0.0, 1.0])
def test_knowing_the_original_is_no_preference_for_a_side_and_a_preference_is_found(bias):
    margins = margins_of(2, 2000, mean=2.0)
    answers = answers_of(margins, bias=bias, has_log_odds=True)
    found = position_of(answers)
    planted = share_a(margins, bias)
    assert found.answers.share == pytest.approx(planted, abs=0.03)
    assert found.p_a.share == pytest.approx(planted, abs=1e-9)
    names = {-1.0: Verdict.BELOW, 0.0: Verdict.UNCLEAR, 1.0: Verdict.ABOVE}
    assert found.corrected(found.p).verdict is names[bias]
    assert found.verdict is Verdict.TOO_FEW  # before it is one of a family
    # What is added to a side cancels in the mean of the log-odds
    assert decisions(answers)["margin_nats"].to_numpy() == pytest.approx(margins)


def test_missing_answers_in_one_order_are_no_preference_for_a_side():
    answers = answers_of(margins_of(3, 1000, mean=4.0, sd=0.1))
    first = answers["original_side"] == "A"
    gone = first & (answers["item"] % 2 == 0)
    found = position_of(answers.assign(is_read=~gone))
    assert found.answers.share == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(
    ("said", "over"),
    [
        (lambda p: 100 * np.maximum(p, 0.5), 0.0),
        (lambda p: np.full(len(p), 95.0), None),
    ],
)
def test_stated_confidence_is_as_far_from_accuracy_as_was_planted(said, over):
    margins = np.abs(margins_of(4, 3000, mean=1.0))
    answers = answers_of(margins, confidence=said)
    right = towards(answers)
    # A model that says the probability of what it answers, in answers it believes in, is calibrated
    likely = sigmoid(margins[answers["item"]])
    believes = np.where(right == 1, likely, 1 - likely) >= 0.5
    keep = np.ones(len(right), bool) if over is None else believes
    planted = over if over is not None else 0.95 - likely.mean()
    confidence = np.where(keep, answers["confidence"] / 100, np.nan)
    if over is not None:  # what it states of its likelier side, whichever it answers
        confidence = likely
    found = stated(confidence, right, answers["item"])
    assert found.overconfidence == pytest.approx(planted, abs=0.02)
    low, high = found.overconfidence_ci95
    assert low <= planted <= high
    p = np.asarray(confidence)
    assert found.brier == pytest.approx(float(np.mean((p - right) ** 2)))
    assert found.error.value >= abs(found.overconfidence) - 1e-9
    assert sum(one.n for one in found.bins) == found.n


def test_the_paired_difference_counts_ties_half_and_so_does_its_test():
    asked = np.array([1, 1, 0.5, 0.5, 0, np.nan])
    scored = np.array([1, 0, 1, 0, 1, 1])
    found = asked_or_scored(asked, scored, asked, scored)
    assert (found.n, found.difference, found.mcnemar.n) == (5, 0.0, 5)
    assert (found.mcnemar.gained, found.mcnemar.lost) == (2, 2)
    t = found.table
    assert t.both + t.asked_only + t.scored_only + t.neither + t.ties == found.n


def test_where_nothing_differs_the_difference_may_still_be_other_on_other_test_cases():
    same = np.tile([1.0, 0.0], 10)
    low, high = asked_or_scored(same, same, same, same).ci95
    assert -0.2 < low < 0 < high < 0.2


def covered(seed: int, n_items: int = 120) -> dict[str, bool]:
    """True for each interval that holds the planted value, in one sample of items from a population."""
    rng = np.random.default_rng(seed)
    bias, mean, sd = 0.7, 0.8, 1.0
    margins = rng.normal(mean, sd, n_items)
    answers = answers_of(margins, bias=bias, samples=3, seed=seed, confidence=lambda p: 0 * p + 90)
    population = np.random.default_rng(0).normal(mean, sd, 200_000)
    right = float((sigmoid(population + bias) + sigmoid(population - bias)).mean() / 2)
    found, hits = position_of(answers), towards(answers)
    share = clustered_share(hits, answers["item"])
    confidence = stated(answers["confidence"] / 100, hits, answers["item"])
    # The same items, scored: right with the same chance, in another draw
    asked = rng.random(n_items) < sigmoid(margins)
    scored = rng.random(n_items) < sigmoid(margins + 0.5)
    gap = asked_or_scored(asked, scored, margins, margins)
    gap_planted = float((sigmoid(population) - sigmoid(population + 0.5)).mean())
    planted = {
        "position": (found.answers.ci95, share_a(population, bias)),
        "accuracy": (share.ci95, right),
        "overconfidence": (confidence.overconfidence_ci95, 0.9 - right),
        "error": (confidence.error.ci95, 0.9 - right),
        "difference": (gap.ci95, gap_planted),
    }
    return {name: low <= truth <= high for name, ((low, high), truth) in planted.items()}


def coverage(n: int) -> dict[str, float]:
    every = [covered(seed) for seed in range(n)]
    return {name: float(np.mean([one[name] for one in every])) for name in every[0]}


def test_intervals_cover_what_was_planted_in_most_samples():
    assert min(coverage(40).values()) >= 0.8


@pytest.mark.sweep
def test_intervals_cover_what_was_planted_in_95_percent_of_the_samples():
    found = coverage(2000)
    assert all(0.93 <= share <= 0.97 for share in found.values()), found


@pytest.mark.parametrize("n_items", [16, 20, 24, 60, 200])
@pytest.mark.parametrize("confidence", [0.7, 0.8, 0.9])
@pytest.mark.parametrize("is_right", [(1, 1), (1, 0)], ids=["all right", "always A"])
def test_values_equal_in_every_test_case_have_no_interval(
    n_items: int, confidence: float, is_right: tuple[int, int]
) -> None:
    items = np.repeat(np.arange(n_items), 2)
    found = stated(np.full(2 * n_items, confidence), np.tile(is_right, n_items), items)
    assert (found.brier_ci95, found.error.ci95) == (None, None)
