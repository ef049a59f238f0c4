"""What a member's confidence is worth, learned on training folds, and the simple ways of combining judgments."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats
from analysis.teams.domain.combination import HeldOut, Logistic, decided, fit_ridge
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import Folds
from analysis.teams.results import About, Method

PENALTY = 1.0
# A choice counts at least this much, in log-odds, whatever the training says against it
FLOOR = 0.001
# Held-out probabilities stay this far from 0 and 1
LEAST_PROBABILITY = 1e-6
MOST_LOG_ODDS = float(special.logit(1 - LEAST_PROBABILITY))
# Rows times folds fitted at once
AT_ONCE = 200_000
# Probabilities nearer to 1/2 than this differ from it by rounding alone
TIE = 1e-12

CALIBRATED = (
    "A member's confidence becomes a probability on the training folds: a person's log-odds of being right are a + b x its "
    "standardised rating, the same for all people, a model's log-odds of the original are b x its difference of perplexities; "
    "normal priors of standard deviation 1 on a and b; a choice always counts for its own side."
)


def calibrated(evidence: Evidence, folds: Folds) -> Floats:
    """(n, members) held-out probability that the original is the original, according to each member alone.

    The logistic function of calibrated_log_odds, so from 1e-6 to 1 - 1e-6; > 1/2 where the member is right, < 1/2 where
    it is wrong, 1/2 where its confidence is 0.
    Raises nothing: without training rows a choice is worth next to nothing.
    """
    return np.asarray(special.expit(calibrated_log_odds(evidence, folds)), dtype=np.float64)


def calibrated_log_odds(evidence: Evidence, folds: Folds) -> Floats:
    """(n, members) held-out log-odds of the original, according to each member alone.

    People: sign x (a + b (|rating| - mean) / sd), with one a and b for all of them, fitted on the first column (each
    judgment is once the first). Models: b x evidence / rms. Mean, sd and rms are of all rows; they know no truth and no
    sides. a and b are fitted for each fold on its training rows, with penalties a^2 / 2 and b^2 / 2, so that a member
    which is always right stays finite. log-odds of being right are held between FLOOR x (1 + |confidence| / rms) and
    13.8: a member that was mostly wrong in training is not turned around, it hardly counts.
    """
    towards, n_humans = evidence.towards_truth, evidence.n_humans
    result = np.empty_like(towards)
    if n_humans:
        people = towards[:, :n_humans]
        result[:, :n_humans] = _people(
            people, _fit(_rated(people[:, 0], people[:, 0]), folds), folds
        )
    for k in range(n_humans, towards.shape[1]):
        result[:, k] = linear_log_odds(towards[:, k], folds)
    return result


def linear_log_odds(towards: Floats, folds: Folds) -> Floats:
    """(n,) held-out log-odds b x towards / rms of the original, from confidence towards it (n,); b as above, floor too.

    >>> even = Folds(np.arange(4), np.arange(4), None, "")
    >>> linear_log_odds(np.array([1.0, 1.0, 1.0, 0.0]), even)[3]  # no confidence, no evidence
    np.float64(0.0)
    """
    betas = _fit((towards / _rms(towards))[:, None], folds)
    return _for_own_side(towards, towards / _rms(towards) * betas[folds.fold, 0], _rms(towards))


def _people(people: Floats, betas: Floats, folds: Folds) -> Floats:
    first = people[:, 0]
    columns = [
        _for_own_side(
            own, np.einsum("nk,nk->n", _rated(own, first), betas[folds.fold]), _rms(first)
        )
        for own in people.T
    ]
    return np.column_stack(columns)


def _rated(own: Floats, scale: Floats) -> Floats:
    """(n, 2) the choice, and the choice times the rating standardised as those of `scale` are."""
    z = standardised(np.abs(own), np.abs(scale[scale != 0]))
    return np.column_stack([np.sign(own), np.sign(own) * z])


def standardised(ratings: Floats, scale: Floats) -> Floats:
    """Ratings less the mean of `scale`, over its standard deviation (over 1 where this is 0).

    >>> standardised(np.array([3.0, 5.0]), np.array([1.0, 3.0]))
    array([1., 3.])
    """
    if not len(scale):
        return np.zeros_like(ratings)
    spread = float(scale.std())
    deviations = ratings - float(scale.mean())
    return deviations / (spread if spread > 1e-12 * scale.mean() else 1.0)


def _rms(x: Floats) -> float:
    """Root mean square: unlike the standard deviation the same whichever side is called A."""
    largest = float(np.abs(x).max(initial=0.0))
    return largest * float(np.sqrt(np.mean((x / largest) ** 2))) if largest else 1.0


def _fit(design: Floats, folds: Folds) -> Floats:
    """(folds, k) weights of columns that point towards the truth; rows of a fold that are alike are fitted as one."""
    value = np.unique(design[:, -1] + 0.0, return_inverse=True)[1]
    # Equal last columns of different choices differ in the sign of the first
    code = 3 * value + np.sign(design[:, 0]).astype(np.int64) + 1
    _, distinct, counts = np.unique(
        folds.fold * (int(code.max()) + 1) + code, return_index=True, return_counts=True
    )
    small, times = design[distinct], counts.astype(float)
    target, penalty = np.ones(len(distinct)), np.full(design.shape[1], PENALTY)
    betas = np.empty((folds.n, design.shape[1]))
    for which, weights in folds.rows(distinct).weights(max(1, AT_ONCE // len(distinct))):
        # From 0: a start fitted to all rows would let the held-out ones in, by the last digits
        betas[which] = fit_ridge(small, target, weights * times, penalty)
    return betas


def _for_own_side(own: Floats, log_odds: Floats, rms: float) -> Floats:
    """Log-odds that speak for the member's own choice: for the original where its confidence is towards it."""
    least = FLOOR * (1 + np.abs(own) / rms)
    right = np.minimum(np.maximum(np.sign(own) * log_odds, least), MOST_LOG_ODDS)
    return np.asarray(np.sign(own) * right)


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
    return About(rule.format(calibration=CALIBRATED, folds=folds.sentence))
