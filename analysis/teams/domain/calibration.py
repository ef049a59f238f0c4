"""What a member's confidence is worth: the chance that its choice is right, learned on training folds."""

import numpy as np
from scipy import special

from analysis.stats.arrays import Floats
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import Folds
from analysis.teams.domain.logistic import fit_ridge

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

RULE = (
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
