"""The simple ways of combining judgments, against which the others are measured; and a member by itself."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats
from analysis.teams.domain.calibration import (
    RULE,
    TIE,
    calibrated,
    calibrated_log_odds,
    linear_log_odds,
)
from analysis.teams.domain.combination import HeldOut, decided
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import Folds
from analysis.teams.domain.logistic import Logistic
from analysis.teams.results import About, Method

MAJORITY = (
    "Each member has one vote, none where its confidence is 0; a tie goes to the side that the mean of the members' "
    "calibrated probabilities favours. The probability: log-odds proportional to the lead in votes, calibrated on the "
    "training folds; in a tie, that mean. {calibration} {folds}."
)
MOST_CONFIDENT = (
    "The member whose calibrated probability is farthest from 1/2 decides, with that probability; where several are equally "
    "far, their majority, and where these are split, nobody (which counts as wrong). {calibration} {folds}."
)
AVERAGE = "The mean of the members' calibrated probabilities. {calibration} {folds}."


@dataclass(frozen=True)
class Alone:
    """One member, scored raw, as published: right where its confidence is on the original's side, whatever a fit says."""

    name: Method = Method.ALONE

    def held_out(self, evidence: Evidence, folds: Folds) -> HeldOut:
        """P is the member's confidence, calibrated on the training folds by a logistic regression. See Combination.

        Raises NotEnough for several members.
        """
        if len(evidence.members) != 1:
            raise NotEnough("These are several members.", "One is by itself.")
        fitted = Logistic().held_out(evidence, folds)
        return HeldOut(fitted.p_original, evidence.is_right[:, 0], fitted.about)


@dataclass(frozen=True)
class Majority:
    """One member, one vote."""

    name: Method = Method.MAJORITY

    def held_out(self, evidence: Evidence, folds: Folds) -> HeldOut:
        """P = logistic(b x lead), lead = (votes for the original - votes against) / members; b >= 0 from training rows.

        Where the lead is 0, P is the mean of calibrated probabilities. See Combination.
        """
        lead = np.sign(evidence.towards_truth).mean(axis=1)
        lead[np.abs(lead) < TIE] = 0.0
        voted = special.expit(linear_log_odds(lead, folds))
        p = np.where(lead == 0, _mean(calibrated(evidence, folds)), voted)
        return decided(p, _about(MAJORITY, folds))


@dataclass(frozen=True)
class MostConfident:
    """The more confident decides (Koriat 2012, Science 336), once confidences are on one scale."""

    name: Method = Method.MOST_CONFIDENT

    def held_out(self, evidence: Evidence, folds: Folds) -> HeldOut:
        """P is the calibrated probability with the largest |P - 1/2|. See Combination."""
        log_odds = calibrated_log_odds(evidence, folds)
        size = np.abs(log_odds)
        most = size.max(axis=1)
        side = np.sign(np.where(size >= most[:, None] - TIE, np.sign(log_odds), 0.0).sum(axis=1))
        return decided(special.expit(side * most), _about(MOST_CONFIDENT, folds))


@dataclass(frozen=True)
class AverageProbability:
    """All members count, the more confident with more weight."""

    name: Method = Method.AVERAGE

    def held_out(self, evidence: Evidence, folds: Folds) -> HeldOut:
        """P = mean over members of calibrated probabilities. See Combination."""
        return decided(_mean(calibrated(evidence, folds)), _about(AVERAGE, folds))


def _mean(probabilities: Floats) -> Floats:
    """(n,) means over members; 1/2 exactly where members cancel out but for rounding."""
    mean = probabilities.mean(axis=1)
    return np.where(np.abs(mean - 0.5) < TIE, 0.5, mean)


def _about(rule: str, folds: Folds) -> About:
    return About(rule.format(calibration=RULE, folds=folds.sentence))
