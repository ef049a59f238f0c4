"""Ways of combining judgments: what each of them is, the published one, and the simple ones that others are measured against.

The published one, all of whose folds are fitted at once: Yanez, Luo, Valerio Minero and Love 2025, Patterns (confidence-weighted integration of
human and machine judgments).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import special

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Ints
from analysis.stats.newton import minimise, newton_step
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import Folds
from analysis.teams.results import About, AsPublishedAbout, Method, NearChance
from lib.points import points


@dataclass(frozen=True)
class HeldOut:
    """p_original: (n,) probability that a row's original is the original, from a fit that saw no trial of its fold.

    points: (n,) what the team's choice counts (1 the original, 1/2 a tie, 0); by itself those of p_original - 1/2.
    about: how it was fitted. folds: those really used, where a method makes others of the given ones; None: those given.
    near_chance: where no member can be told from chance, what chance gives.
    """

    p_original: Floats
    points: Floats
    about: About
    folds: Folds | None = None
    near_chance: NearChance | None = None


class Combination(Protocol):
    """A way of combining."""

    @property
    def name(self) -> Method: ...

    def held_out(self, evidence: Evidence, folds: Folds) -> HeldOut:
        """All members of `evidence` are combined; its row r is predicted by a fit on folds.train(folds.fold[r]).

        Where it needs fewer folds it says which in HeldOut.folds: every one of them trains on a part of the training
        rows of each row it holds out. What is true of a held-out row must not have any part in its own prediction.

        Raises:
            NotEnough: these judgments do not suffice for a fit.
        """
        ...


def decided(p_original: Floats, about: About) -> HeldOut:
    """The choice that goes with the probabilities."""
    return HeldOut(p_original, points(p_original - 0.5), about)


PENALTY = 1.0  # 1 / C; of calibrations too
MAX_STEPS, TOLERANCE = 50, 1e-10

PUBLISHED = (
    "Logistic regression of the original's side on the members' unscaled signed confidences (a person's rating, a "
    "model's difference of perplexities), with an intercept and an L2 penalty of C = 1 on the weights; {folds}. "
    "A member's tie is a confidence of 0 and adds nothing; if all members tie, the intercept decides."
)


@dataclass(frozen=True)
class AsPublished:
    """The published combination: log-odds of side B = intercept + weights x signed confidences, unscaled, C = 1."""

    name: Method = Method.AS_PUBLISHED

    def held_out(self, evidence: Evidence, folds: Folds) -> HeldOut:
        """See Combination. `about`: the weights of people together and of each model.

        Raises NotEnough where a training fold has originals on one side only.
        """
        confidences = evidence.people_as_one(evidence.as_published)
        design = np.column_stack([np.ones(len(evidence)), confidences])
        penalty = np.full(design.shape[1], PENALTY)
        penalty[0] = 0.0
        is_b = (evidence.truth > 0).astype(float)
        distinct = rows = np.arange(len(evidence))
        times = np.ones(len(evidence))
        if not evidence.n_humans and folds.people_block is None:
            # A team of models says the same on every trial of an item: these are fitted as one
            _, distinct, rows, counts = np.unique(
                2 * evidence.item + (is_b > 0),
                return_index=True,
                return_inverse=True,
                return_counts=True,
            )
            times = counts.astype(float)
        small, held = design[distinct], folds.rows(distinct)
        betas = np.empty((folds.n, design.shape[1]))
        for which, weights in held.weights():
            # From 0, not from a fit on all rows: that would know the held-out ones
            betas[which] = fit_ridge(small, is_b[distinct], weights * times, penalty)
        log_odds: Floats = np.einsum("nk,nk->n", small, betas[held.fold])
        means = betas.mean(axis=0)
        return decided(
            special.expit(log_odds[rows] * evidence.truth),
            AsPublishedAbout(
                PUBLISHED.format(folds=folds.words), float(means[0]), tuple(means[1:].tolist())
            ),
        )


def fit_ridge(
    design: Floats, target: Floats, weights: Floats, penalty: Floats, start: Floats | None = None
) -> Floats:
    """Penalised logistic regressions that share their rows and differ in weights, by Newton's method; (fits, k).

    Minimises sum_n w_fn log(1 + exp(-(2 y_n - 1) x_n b_f)) + 1/2 sum_k penalty_k b_fk^2 for each row f of weights (fits,
    n); design (n, k), target (n,) 0 or 1, penalty (k,) or (fits, k), start (1 or fits, k). A step that does not lower
    the loss is halved; a fit is done when its Newton decrement is below 1e-10 of its loss.
    Raises NotEnough where rows of weight have one target only while a coefficient is without penalty.

    >>> fit_ridge(np.ones((4, 1)), np.array([1.0, 1, 1, 0]), np.ones((1, 4)), np.zeros(1)).round(6)  # log(3)
    array([[1.098612]])
    """
    n_fits, k = len(weights), design.shape[1]
    penalty = np.broadcast_to(penalty, (n_fits, k))
    free = (penalty == 0).any(axis=1)
    ones = (weights[free] * target).sum(axis=1)
    if len(ones) and ((ones <= 0) | (ones >= weights[free].sum(axis=1))).any():
        raise NotEnough(
            "In some training folds, all originals are on the same side.",
            "More test cases with originals on both sides are needed.",
        )
    begin = np.broadcast_to(0.0 if start is None else start, (n_fits, k))
    problem = _Ridge(design, target, weights, penalty)
    return minimise(problem, begin, max_steps=MAX_STEPS, must_converge=False).at


class _Ridge:
    """newton.Problem of penalised logistic regressions that share their rows and differ in weights."""

    def __init__(self, design: Floats, target: Floats, weights: Floats, penalty: Floats) -> None:
        self.design, self.target, self.weights, self.penalty = design, target, weights, penalty
        k = design.shape[1]
        self.pairs = (design[:, :, None] * design[:, None, :]).reshape(len(design), k * k)

    def loss(self, at: Floats, fits: Ints) -> tuple[Floats, Floats]:
        log_odds = at @ self.design.T
        misfit = np.logaddexp(0.0, np.where(self.target > 0, -log_odds, log_odds))
        ridge = 0.5 * (self.penalty[fits] * at**2).sum(axis=1)
        return (self.weights[fits] * misfit).sum(axis=1) + ridge, log_odds

    def step(self, at: Floats, state: Floats, loss: Floats, fits: Ints) -> tuple[Floats, Bools]:
        p, weights, penalty = special.expit(state), self.weights[fits], self.penalty[fits]
        k = at.shape[1]
        gradient = (weights * (p - self.target)) @ self.design + penalty * at
        hessian = ((weights * p * (1 - p)) @ self.pairs).reshape(-1, k, k)
        hessian[:, np.arange(k), np.arange(k)] += penalty
        step, decrement = newton_step(gradient, hessian)
        return step, decrement <= TOLERANCE * (1e-3 + loss)


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
    "A member's confidence becomes a probability on the training folds. A person's log-odds of being right are a + "
    "b x the standardised rating, with the same a and b for all people. A model's log-odds of the original are b x "
    "its difference of log-perplexities. a and b have normal priors with standard deviation 1. A choice always "
    "counts for the chosen side, and a tie has the probability 1/2."
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
        first = towards[:, 0]
        betas = _fit(_rated(first, first), folds)[folds.fold]
        for k, own in enumerate(towards[:, :n_humans].T):
            log_odds = np.einsum("nk,nk->n", _rated(own, first), betas)
            result[:, k] = _for_own_side(own, log_odds, rms(first))
    for k in range(n_humans, towards.shape[1]):
        result[:, k] = linear_log_odds(towards[:, k], folds)
    return result


def linear_log_odds(towards: Floats, folds: Folds) -> Floats:
    """(n,) held-out log-odds b x towards / rms of the original, from confidence towards it (n,); b as above, floor too.

    >>> even = Folds(np.arange(4), np.arange(4), None, "")
    >>> linear_log_odds(np.array([1.0, 1.0, 1.0, 0.0]), even)[3]  # no confidence, no evidence
    np.float64(0.0)
    """
    betas = _fit((towards / rms(towards))[:, None], folds)
    return _for_own_side(towards, towards / rms(towards) * betas[folds.fold, 0], rms(towards))


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


def rms(x: Floats) -> float:
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
    "Each member has one vote, or none if its confidence is 0 (a tie of its own). Equal numbers of votes go to the side that the mean of the "
    "members' calibrated probabilities favours. The log-odds are proportional to the lead in votes, calibrated on "
    "the training folds; where votes are equal, the probability is that mean. {calibration} {folds}."
)
MOST_CONFIDENT = (
    "The member whose calibrated probability is farthest from 1/2 decides, with that probability. If several are "
    "equally far, their majority decides; if they are split, nobody decides: a tie. A member that ties decides nothing. {calibration} {folds}."
)
ALONE = "The choice of a single member; its ties stay ties. {calibration} {folds}."
AVERAGE = "The mean of the members' calibrated probabilities; a mean of 1/2 is a tie. {calibration} {folds}."


@dataclass(frozen=True)
class Alone:
    """One member, scored raw, as published: right where its confidence is on the original's side, whatever a fit says; its ties stay ties."""

    name: Method = Method.ALONE

    def held_out(self, evidence: Evidence, folds: Folds) -> HeldOut:
        """P is the member's calibrated probability. See Combination.

        Raises NotEnough for several members.
        """
        if len(evidence.members) != 1:
            raise NotEnough("A single member is needed.", "Choose one member.")
        p_original = calibrated(evidence, folds)[:, 0]
        return HeldOut(p_original, evidence.points[:, 0], _about(ALONE, folds))


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
