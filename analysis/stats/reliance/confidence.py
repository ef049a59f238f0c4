"""Quality of confidence before and after advice, and how long answers with advice take."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Interval
from analysis.stats.calibration import CalibrationError, calibration_error
from analysis.stats.reliance.trials import (
    AdvisedTrials,
    Estimate,
    change_of_overconfidence,
    difference,
    mean,
    overconfidence,
)
from analysis.stats.verdicts import CHAPTER, HOLM, Concludes, Verdict

N_BINS = 10
CALIBRATION = (
    "A confidence of 1 to 100 is read as a probability of .5 + .5 confidence / 100 of being right, as in the chapter on "
    "calibration. Overconfidence: mean probability minus accuracy. Brier score: mean squared difference between probability and "
    "correctness (0 or 1); it is .25 if every probability is 50%. Both with Student's t and errors clustered by participants and test cases."
)
TIME = (
    "Geometric mean of the trials' times, and the ratio of two of them, from the mean of their logarithms; errors clustered by "
    "participants and test cases."
)


@dataclass(frozen=True)
class Rated:
    """Ratings of answers with a confidence, read as probabilities from 0.5 to 1."""

    mean_probability: float
    accuracy: float
    overconfidence: Estimate
    brier: Estimate
    error: CalibrationError


@dataclass(frozen=True)
class BeforeAndAfter:
    """On the same trials; changes are after minus before, below 0 an improvement of the Brier score.

    p_holm: of the change of overconfidence, as one of the chapter's family; None before the correction.
    """

    before: Rated
    after: Rated
    change_overconfidence: Estimate
    change_brier: Estimate
    p_holm: float | None = None
    method: str = CALIBRATION

    @property
    def verdict(
        self,
    ) -> Annotated[
        Verdict, Concludes("whether advice changes overconfidence in an arm", CHAPTER, HOLM)
    ]:
        """Verdict on the change of overconfidence."""
        found = self.change_overconfidence
        return Verdict.of(found.value, self.p_holm, found.n_clusters or 0)


def rated(trials: AdvisedTrials, confidence: Floats, right: Floats, seed: int = 42) -> Rated:
    """Calibration of confidences (n,) of 1 to 100 in answers that are right or not (n,). Brier 1950 (Mon. Weather Rev. 78).

    Raises NotEnough where no trial has a confidence.
    """
    own, p, y = _known(trials, confidence, right)
    return Rated(
        mean_probability=float(p.mean()),
        accuracy=float(y.mean()),
        overconfidence=overconfidence(own, p, y),
        brier=mean(own, (p - y) ** 2, (0.0, 1.0)),
        error=calibration_error(
            p,
            y,
            own.participant,
            own.item,
            units="participants and test cases",
            low=0.5,
            n_bins=N_BINS,
            seed=seed,
        ),
    )


def before_and_after(trials: AdvisedTrials, seed: int = 42) -> BeforeAndAfter:
    """Calibration of trials with advice that have a confidence before and after it. Raises NotEnough without one."""
    both = trials.with_both()
    both = both.of(np.isfinite(both.confidence_before + both.confidence_after))
    own, p, y = _known(both, both.confidence_before, both.right_before)
    _, q, z = _known(both, both.confidence_after, both.right_after)
    return BeforeAndAfter(
        before=rated(both, both.confidence_before, both.right_before, seed),
        after=rated(both, both.confidence_after, both.right_after, seed),
        change_overconfidence=change_of_overconfidence(own, q - p, z - y),
        change_brier=mean(own, (q - z) ** 2 - (p - y) ** 2, (-1.0, 1.0)),
    )


def _known(
    trials: AdvisedTrials, confidence: Floats, right: Floats
) -> tuple[AdvisedTrials, Floats, Floats]:
    """Trials with a confidence, its probability, and whether the answer is right."""
    known = np.isfinite(confidence) & np.isfinite(right)
    if not known.any():
        raise NotEnough("No trial has a confidence.", "Ask for confidence in the study.")
    return trials.of(known), 0.5 + 0.5 * confidence[known] / 100, right[known]


@dataclass(frozen=True)
class Seconds:
    """Geometric mean over n trials whose time is known."""

    n: int
    seconds: float
    ci95: Interval | None
    method: str = TIME


@dataclass(frozen=True)
class TimeRatio:
    """The second's geometric mean over the first's; p against 1."""

    n: int
    ratio: float
    ci95: Interval | None
    p: float | None


def typical_seconds(trials: AdvisedTrials, ms: Floats) -> Seconds:
    """exp(mean log t) of times (n,) in ms, not known where NaN or 0. Raises NotEnough where none is known."""
    known = _timed(ms)
    found = mean(trials.of(known), np.log(ms[known] / 1000))
    return Seconds(found.n, float(np.exp(found.value)), _exp(found.ci95))


def time_ratio(trials: AdvisedTrials, ms: Floats, second: Bools) -> TimeRatio:
    """exp of the difference of mean logarithms between the trials that are `second` (n,) and the others. Raises NotEnough."""
    known = _timed(ms)
    found = difference(trials.of(known), np.log(ms[known]), second[known], of_shares=False)
    return TimeRatio(found.n, float(np.exp(found.value)), _exp(found.ci95), found.p)


def _timed(ms: Floats) -> Bools:
    known: Bools = np.nan_to_num(ms) > 0
    return known


def _exp(ci95: Interval | None) -> Interval | None:
    return None if ci95 is None else (float(np.exp(ci95[0])), float(np.exp(ci95[1])))
