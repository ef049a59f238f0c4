"""Simulated studies with advice whose reliance, calibration, arm effect and gains are known exactly.

Half of the people are without advice. The others answer first, as right as those, and see advice, right or wrong by itself.
Where it differs from their answer they switch with log-odds of a mean by right or wrong advice, a person and a test case; where
it agrees they seldom change. Ratings are drawn without regard to the answer, so that their calibration is known too.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from analysis.stats.mixed_model.model import marginal_accuracy
from analysis.stats.reliance.trials import AFTER, NONE, AdvisedTrials

MEAN, SD_PERSON, SD_ITEM = 0.4, 0.4, 0.8  # log-odds of a right first answer
ADVICE_RIGHT = 0.75
TO_RIGHT, TO_WRONG, SD_SWITCH_PERSON, SD_SWITCH_ITEM = 0.5, -0.7, 0.7, 0.4
SLIP = 0.03  # switches although the advice agrees
TEAM_RIGHT = 0.85  # of a computed team, where first answer and advice differ
BEFORE, LATER = (20, 60), (40, 90)  # ratings, uniform
SLOWER = 0.3  # log of the time with advice over that without


@dataclass(frozen=True)
class Planted:
    """A study, and whether a computed team is right on each trial, NaN without advice."""

    trials: AdvisedTrials
    team_right: np.ndarray

    @property
    def is_advised(self) -> np.ndarray:
        return self.trials.is_advised


def draw(seed: int, n_people: int = 120, n_items: int = 60, each: int = 10) -> Planted:
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n_people), each)
    order = np.argsort(rng.random((n_people, n_items)), axis=1)[:, :each]
    item, n = order.ravel(), n_people * each
    advised = who % 2 == 1

    def effect(sd: float, size: int, of: np.ndarray) -> np.ndarray:
        return rng.normal(0, sd, size)[of]

    logit = MEAN + effect(SD_PERSON, n_people, who) + effect(SD_ITEM, n_items, item)
    first = (rng.random(n) < special.expit(logit)).astype(float)
    advice = (rng.random(n_items) < ADVICE_RIGHT).astype(float)[item]
    logit = np.where(advice == 1, TO_RIGHT, TO_WRONG)
    logit += effect(SD_SWITCH_PERSON, n_people, who) + effect(SD_SWITCH_ITEM, n_items, item)
    switches = rng.random(n) < np.where(first == advice, SLIP, special.expit(logit))
    final = np.where(advised & switches, 1 - first, first)
    team = np.where(first == advice, first, rng.random(n) < TEAM_RIGHT)
    ms = np.exp(rng.normal(10, 0.5, n) + effect(0.3, n_people, who) + SLOWER * advised)

    def rated(low: int, high: int) -> np.ndarray:
        return rng.integers(low, high + 1, n).astype(float)

    of_advised = np.where(advised, 1.0, np.nan)
    p = rng.uniform(0.55, 0.95, n_items)[item]
    trials = AdvisedTrials(
        participant=who,
        item=item,
        arm=np.where(advised, "advised", "alone").astype(object),
        procedure=np.where(advised, AFTER, NONE).astype(object),
        right_before=first * of_advised,
        right_after=final,
        advice_right=advice,
        p_advice=p,
        p_shown=p * of_advised,
        p_known=p * of_advised,
        confidence_before=rated(*BEFORE) * of_advised,
        confidence_after=rated(*LATER),
        rt_before_ms=0.7 * ms * of_advised,
        rt_ms=ms,
        expertise=rated(1, 100),
        position=np.tile(np.arange(1.0, each + 1), n_people),
    )
    return Planted(trials, team * of_advised)


def _rate(mean: float) -> float:
    return marginal_accuracy(mean, np.hypot(SD_SWITCH_PERSON, SD_SWITCH_ITEM))


def truths() -> Mapping[str, float]:
    """The planted values, over all people and test cases."""
    right, q = marginal_accuracy(MEAN, np.hypot(SD_PERSON, SD_ITEM)), ADVICE_RIGHT
    rair, to_wrong = _rate(TO_RIGHT), _rate(TO_WRONG)
    hits = right * (1 - SLIP) + (1 - right) * rair
    false_alarms = right * to_wrong + (1 - right) * (1 - SLIP)
    final = q * hits + (1 - q) * (1 - false_alarms)
    differ = q * (1 - right) + (1 - q) * right
    team = q * right + differ * TEAM_RIGHT
    before, after = (_uniform(*ends) for ends in (BEFORE, LATER))
    z = stats.norm.ppf
    return {
        "accuracy before": right,
        "accuracy after": final,
        "change": final - right,
        "arm effect": final - right,
        "agreement": q * hits + (1 - q) * false_alarms,
        "agreement without advice": q * right + (1 - q) * (1 - right),
        "switching": (q * (1 - right) * rair + (1 - q) * right * to_wrong) / differ,
        "rair": rair,
        "rsr": 1 - to_wrong,
        "overreliance": false_alarms,
        "underreliance": 1 - hits,
        "d'": z(hits) - z(false_alarms),
        "criterion": -(z(hits) + z(false_alarms)) / 2,
        "d' where answers differ": z(rair) - z(to_wrong),
        "overconfidence before": before[0] - right,
        "overconfidence after": after[0] - final,
        "change of overconfidence": (after[0] - final) - (before[0] - right),
        "Brier score before": _brier(before, right),
        "change of Brier score": _brier(after, final) - _brier(before, right),
        "time ratio": float(np.exp(SLOWER)),
        "share realised": (final - right) / (team - right),
        "unused": team - final,
    }


def _uniform(low: int, high: int) -> tuple[float, float]:
    """Mean and mean square of the probabilities of such ratings."""
    p = 0.5 + 0.5 * np.arange(low, high + 1) / 100
    return float(p.mean()), float((p**2).mean())


def _brier(p: tuple[float, float], right: float) -> float:
    return p[1] - 2 * p[0] * right + right


WEIGHT, SD_WEIGHT = 0.4, 0.1


def draw_weights(seed: int, n_people: int = 60, n_items: int = 40, each: int = 10) -> AdvisedTrials:
    """People whose confidence goes WEIGHT of the way to the advice, which agrees with them, on average over people."""
    planted = draw(seed, n_people, n_items, each)
    rng = np.random.default_rng(seed + 10**6)
    weight = rng.normal(WEIGHT, SD_WEIGHT, n_people)[planted.trials.participant]
    n = len(planted.trials)
    # Far enough from the first answers that no weight is limited
    p, first = 0.75 + planted.trials.p_advice / 4, rng.uniform(10, 40, n)
    final = first + weight * (100 * (2 * p - 1) - first) + rng.normal(0, 2, n)
    right = planted.trials.advice_right
    changed = {
        "procedure": np.full(n, AFTER, dtype=object),
        "right_before": right,
        "right_after": right,
        "p_shown": p,
        "confidence_before": first,
        "confidence_after": final,
    }
    return AdvisedTrials(**(vars(planted.trials) | changed))
