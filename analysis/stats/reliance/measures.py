"""Reliance on advice in the field's terms: agreement, switching, right and wrong reliance, and the flow of answers.

A decision has two sides, so that an answer which is not the advised one is the other one.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated

import numpy as np
from scipy import stats

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Interval
from analysis.stats.cr2 import Fitted, slopes
from analysis.stats.reliance.trials import NO_TRIALS, AdvisedTrials, Estimate, mean, share
from analysis.stats.two_way_clustered import FEW, clustered, of_errors
from analysis.stats.verdicts import CHAPTER, HOLM, Concludes, Verdict

SHARES = (
    "Shares of trials; standard errors clustered by participants and test cases, score interval (Wilson's, with Student's t) "
    "for the number of independent trials that would give the same standard error."
)
WEIGHT = (
    "The slope of final confidence on advice at equal first answers: least squares of the final on the first confidence and the advice, each in points, signed "
    "by the side it is about. The adviser's probability p is put on the scale of the ratings as 100 (2 p - 1), on which 0 is a guess. It is 0 where advice does "
    "nothing, also where people become surer or less sure on a second look. Errors clustered by participants and test cases, "
    "corrected for leverage (CR2), with Student's t and Satterthwaite's degrees of freedom; no interval where fewer than {few} trials changed in confidence. The limited mean "
    "describes, without a test, since it is above 0 where advice does nothing: (final - first) / (advice - first) (Harvey and Fischer 1997), limited to 0 to 1, over "
    "trials whose advice is at least {near:g} points from the first answer."
)
DETECTION = (
    "d' = z(hits) - z(false alarms), c = -(z(hits) + z(false alarms)) / 2 (Stanislaw and Todorov 1999). A hit is to follow right "
    "advice, a false alarm to follow wrong advice; 1/2 is added to their numbers and 1 to those of trials (log-linear "
    "correction). Over the trials of all participants; intervals by the delta method, clustered by participants and test cases, "
    "with Student's t for the smallest number of participants or test cases whose advice was of one kind."
)
SAME = 1e-9  # a standard error, below which everybody moved alike
NEAR = 5.0  # points of 200, within which first answer and advice are the same


def agreement(trials: AdvisedTrials) -> Estimate:
    """Agreement fraction: share of trials with advice whose final answer is the advised one.

    Yin, Wortman Vaughan and Wallach 2019 (CHI, paper 279). Of trials for whose test cases there is advice that was not shown, how
    often people agree with it by themselves. Raises NotEnough without such a trial.
    """
    own = trials.of(np.isfinite(trials.advice_right))
    return share(own, own.follows)


def switching(trials: AdvisedTrials) -> Estimate:
    """Switch fraction: of trials whose first answer is not the advised one, the share whose final answer is.

    Yin, Wortman Vaughan and Wallach 2019; Zhang, Liao and Bellamy 2020 (FAT*). Raises NotEnough without such a trial.
    """
    both = trials.with_both()
    own = both.of(both.disagrees)
    return share(own, own.follows)


def relative_ai_reliance(trials: AdvisedTrials) -> Estimate:
    """RAIR: of trials with a wrong first answer and right advice, the share whose final answer is right.

    Schemmer, Kuehl, Benz, Bartos and Satzger 2023 (IUI), equation for RAIR. Raises NotEnough without such a trial.
    """
    both = trials.with_both()
    own = both.of(both.disagrees & (both.advice_right == 1))
    return share(own, own.right_after)


def relative_self_reliance(trials: AdvisedTrials) -> Estimate:
    """RSR: of trials with a right first answer and wrong advice, the share whose final answer is right.

    Schemmer, Kuehl, Benz, Bartos and Satzger 2023 (IUI), equation for RSR. Raises NotEnough without such a trial.
    """
    both = trials.with_both()
    own = both.of(both.disagrees & (both.advice_right == 0))
    return share(own, own.right_after)


def overreliance(trials: AdvisedTrials) -> Estimate:
    """Share of trials with wrong advice whose final answer is the advised one, thus wrong.

    Bucinca, Malaya and Gajos 2021 (Proc. ACM Hum.-Comput. Interact. 5, CSCW1). It needs no first answer, so that both procedures and trials without
    advice have it; 1 - RSR is the same of right first answers alone. Raises NotEnough without such a trial.
    """
    own = trials.of(trials.advice_right == 0)
    return share(own, own.follows)


def underreliance(trials: AdvisedTrials) -> Estimate:
    """Share of trials with right advice whose final answer is not the advised one, thus wrong.

    The counterpart of `overreliance`; 1 - RAIR is the same of wrong first answers alone. Raises NotEnough without such a trial.
    """
    own = trials.of(trials.advice_right == 1)
    return share(own, 1 - own.follows)


@dataclass(frozen=True)
class FlowCell:
    """n trials with this first answer, advice and decision to keep or switch; share: of those with this first answer and advice.

    share None where there is none.
    """

    is_first_right: bool
    is_advice_right: bool
    is_kept: bool
    n: int
    share: float | None

    @property
    def is_final_right(self) -> bool:
        return self.is_first_right == self.is_kept


def flow(trials: AdvisedTrials) -> tuple[FlowCell, ...]:
    """The eight cells of first answer, advice and final answer. Raises NotEnough without a trial that has all three."""
    own = trials.with_both()
    cells = []
    for first, advice in product((True, False), repeat=2):
        start = (own.right_before == first) & (own.advice_right == advice)
        for kept in (True, False):
            n, total = int((start & (own.switched != kept)).sum()), int(start.sum())
            cells.append(FlowCell(first, advice, kept, n, n / total if total else None))
    return tuple(cells)


@dataclass(frozen=True)
class WeightOfAdvice:
    """slope: over all trials, n_changed of which changed in confidence. p_holm: its p as one of the chapter's family, None before the correction. limited: mean over `limited.n` trials, without an interval; n_near had none, n_limited were beyond 0 or 1."""

    slope: Estimate
    limited: Estimate
    n_changed: int
    n_near: int
    n_limited: int
    p_holm: float | None = None
    method: str = WEIGHT.format(near=NEAR, few=FEW)

    @property
    def verdict(
        self,
    ) -> Annotated[Verdict, Concludes("whether advice has weight in an arm", CHAPTER, HOLM)]:
        return Verdict.of(self.slope.value, self.p_holm, self.slope.n_clusters or 0)


def weight_of_advice(trials: AdvisedTrials) -> WeightOfAdvice:
    """By how much of a difference in advice final confidence differs after equal first answers: 0 not at all, 1 wholly.

    final = a + b first + w advice, each confidence in points with the sign of its side, the adviser's 100 (2 p - 1); w by least squares, with the
    errors of `cr2.slopes`. Where final - first does not depend on advice, w is 0, whatever b is; the slope on advice - first is not unless b = 1.
    The limited mean is that of (final - first) / (advice - first) (Harvey and Fischer 1997, Organ.
    Behav. Hum. Decis. Process. 70; Bonaccio and Dalal 2006, same journal, 101), undefined within NEAR points, limited to [0, 1] as by Logg, Minson and Moore 2019
    (same journal, 151), since near the advice a point of noise is a large weight.
    Raises NotEnough where no trial has both confidences and an adviser's that was shown, and where all advice is alike after equal first answers.
    """
    first, final, advice = (
        (2 * right - 1) * confidence
        for right, confidence in (
            (trials.right_before, trials.confidence_before),
            (trials.right_after, trials.confidence_after),
            (trials.advice_right, 100 * (2 * trials.p_shown - 1)),
        )
    )
    moved, distance = final - first, advice - first
    known = trials.has_both & np.isfinite(moved) & np.isfinite(distance)
    far = known & (np.abs(distance) >= NEAR)
    if not far.any():
        raise NotEnough(
            "No trial has all three: the participant's confidence before advice and after it, and the adviser's confidence, shown "
            f"and at least {NEAR:g} points from the first answer.",
            "Show the adviser's confidence in an arm with advice after the first answer.",
        )
    weights = moved[far] / distance[far]
    limited = weights.clip(0, 1)
    n_changed = int((moved[known] != 0).sum())
    own, y = trials.of(known), final[known]
    columns = np.column_stack([np.ones(len(y)), first[known], advice[known]])
    if len(y) <= 3 or np.linalg.matrix_rank(columns) < 3:
        raise NotEnough(
            "After equal first answers all advice was alike, which does not tell what it does.",
            "Advice of both kinds, or of several confidences, is needed.",
        )
    beta: Floats = np.linalg.lstsq(columns, y, rcond=None)[0].astype(float)
    fit = Fitted.of(columns, beta, np.ones(len(y)), y - columns @ beta)
    groups = tuple(np.unique(one, return_inverse=True)[1] for one in (own.participant, own.item))
    found = slopes(fit, groups)[2]
    usual = Estimate.of(clustered(found.estimate, found.se, min(g.max() + 1 for g in groups)), own)
    is_known = usual.ci95 is not None and n_changed >= FEW and found.se > SAME
    ci95, p = (found.ci95, found.p) if is_known else (None, None)
    return WeightOfAdvice(
        slope=replace(usual, ci95=ci95, p=p),
        limited=replace(mean(trials.of(far), limited), ci95=None, p=None),
        n_changed=n_changed,
        n_near=int(known.sum() - far.sum()),
        n_limited=int((weights != limited).sum()),
    )


@dataclass(frozen=True)
class Detection:
    """followed_right, followed_wrong: shares of n_right and n_wrong trials; hits, false_alarms: the same, corrected; d_prime 0 follows right and wrong advice alike, criterion below 0 follows often."""

    n_right: int
    n_wrong: int
    followed_right: float
    followed_wrong: float
    hits: float
    false_alarms: float
    d_prime: float
    d_prime_ci95: Interval | None
    criterion: float
    criterion_ci95: Interval | None
    method: str = DETECTION


def detection(trials: AdvisedTrials) -> Detection:
    """How well people tell right advice from wrong, by what they follow.

    H = (h + 1/2) / (n_right + 1), F likewise; d' = z(H) - z(F), c = -(z(H) + z(F)) / 2: Stanislaw and Todorov 1999 (Behav.
    Res. Methods Instrum. Comput. 31); correction of Hautus 1995 (same journal, 27); for people who oversee a system, Langer, Baum and Schlicker 2025 (Minds Mach. 35). A
    trial adds (y - its share) / (n + 1) / phi(z) to the error of its z. The error is never below that of independent trials
    (Gourevitch and Galanter 1967, Psychometrika 32), which is not 0 where all trials agree.
    Over pooled trials, which gives a d' below the mean of people's own where their criteria differ (Macmillan and Kaplan 1985,
    Psychol. Bull. 98); six trials of a person have no d' of their own. Raises NotEnough without right, or without wrong advice.
    """
    own = trials.of(np.isfinite(trials.advice_right))
    if not len(own):
        raise NotEnough(*NO_TRIALS)
    right = own.advice_right == 1
    if not (right.any() and (~right).any()):
        raise NotEnough(
            "The advice was always right, or always wrong.",
            "Advice of both kinds is needed.",
        )
    hits, false_alarms = _rate(own.follows, right), _rate(own.follows, ~right)
    both = hits.errors - false_alarms.errors, -(hits.errors + false_alarms.errors) / 2
    least = np.hypot(hits.least_se, false_alarms.least_se)
    values = hits.z - false_alarms.z, -(hits.z + false_alarms.z) / 2
    intervals: list[Interval | None] = []
    # A share rests on the test cases, and people, of its own kind of advice
    fewest = min(
        len(np.unique(group[of])) for of in (right, ~right) for group in (own.participant, own.item)
    )
    for value, errors, floor in zip(values, both, (least, least / 2), strict=True):
        found = of_errors(value, errors, own.participant, own.item, fewest)
        if found.is_known and found.se < floor:
            found = clustered(value, float(floor), found.n_clusters)
        intervals.append(found.ci95 if found.is_known else None)
    return Detection(
        n_right=int(right.sum()),
        n_wrong=int((~right).sum()),
        followed_right=float(own.follows[right].mean()),
        followed_wrong=float(own.follows[~right].mean()),
        hits=hits.share,
        false_alarms=false_alarms.share,
        d_prime=values[0],
        d_prime_ci95=intervals[0],
        criterion=values[1],
        criterion_ci95=intervals[1],
    )


def detection_where_answers_differ(trials: AdvisedTrials) -> Detection:
    """The same over trials whose first answer is not the advised one. Raises NotEnough without them."""
    both = trials.with_both()
    return detection(both.of(both.disagrees))


@dataclass(frozen=True)
class _Rate:
    """A corrected share, its z, and (n,) what each trial adds to the error of z."""

    share: float
    z: float
    errors: Floats
    least_se: float


def _rate(follows: Floats, of: Bools) -> _Rate:
    n, k = int(of.sum()), float(follows[of].sum())
    share = (k + 0.5) / (n + 1)
    z = float(stats.norm.ppf(share))
    density = float(stats.norm.pdf(z))
    errors = np.where(of, (follows - k / n) / (n + 1) / density, 0.0)
    return _Rate(share, z, errors, float(np.sqrt(share * (1 - share) / (n + 1))) / density)
