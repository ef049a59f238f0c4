"""Models that take the test by choosing: preference for a side, agreement with itself, and what it says of its own answers.

An answer is about an item that was shown with the original as side A, or as side B. Items are what vary: answers about one
item go together. Where a share is of both orders, each order counts as much, so that a model that is often right in one
order and cannot be read in the other is not taken for one that prefers a side.
"""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np
import numpy.typing as npt

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Interval
from analysis.stats.calibration import (
    CalibrationError,
    calibration_error,
    equal_width_bins,
)
from analysis.stats.estimates import (
    Correlation,
    McNemar,
    Proportion,
    mcnemar,
    proportion,
    proportion_of_counts,
    spearman,
)
from analysis.stats.two_way_clustered import (
    Part,
    TwoWay,
    clustered,
    covariance,
    of_parts,
    rarer,
    share_of_ties,
)
from analysis.stats.verdicts import CHAPTER, HOLM, OF_ITEMS, Concludes, Verdict
from lib.points import RIGHT, TIE, WRONG, points

N_BINS = 10
SHARE = (
    "Shares over answers. The interval is Wilson's score interval (with Student's t; Tango's where answers tie) for the number of independent "
    "answers that would have the same standard error, which is clustered by test case."
)
POSITION = (
    "Share of the answers that name side A, the mean over both orders (the original as A, the original as B) of the test cases with "
    "readable answers in both, so a model's knowledge of the original does not affect it; 95% interval with errors clustered by test cases. By log-odds: the mean probability of "
    "A, in the same way."
)
CONFIDENCE = (
    "Brier score: mean squared difference between confidence and correctness (0 or 1); it is 0.25 if every confidence is 50%. "
    "Overconfidence: "
    "mean confidence minus accuracy. Both with Student's t and errors clustered by test cases."
)
PAIRED = (
    "Accuracy when asked minus accuracy by perplexity on the test cases that have both; a tie counts half. Exact McNemar "
    "test, and 95% interval after Agresti and Min, which also holds 0 if the test does not reject at 0.05; over test cases "
    "only, because a model's answers are treated as fixed."
)


NO_ANSWER = (
    "There is no answer that could be read.",
    "Ask the model in a form that it answers, and that fits into what it can read.",
)


@dataclass(frozen=True)
class Share:
    """n answers about n_items items; ci95 None below three items."""

    n: int
    n_items: int
    share: float
    ci95: Interval | None
    method: str = SHARE


@dataclass(frozen=True)
class Position:
    """answers: the share of A, p against 1/2; p_a: the mean probability of A where log-odds are known.

    p_holm, verdict (ABOVE: side A): as one of the family of a chapter, by `corrected`.
    """

    answers: Share
    p_a: Share | None
    p: float
    p_holm: float = math.nan
    verdict: Annotated[
        Verdict, Concludes("whether a model prefers a side", CHAPTER, HOLM, OF_ITEMS)
    ] = Verdict.TOO_FEW
    method: str = POSITION

    def corrected(self, p_holm: float) -> Self:
        verdict = Verdict.of(self.answers.share - 0.5, p_holm, self.answers.n_items)
        return replace(self, p_holm=p_holm, verdict=verdict)


@dataclass(frozen=True)
class Reliability:
    """Answers whose confidence is within [low, high): mean confidence, share that is right."""

    low: float
    high: float
    n: int
    mean_confidence: float
    accuracy: float
    ci95: Interval | None


@dataclass(frozen=True)
class Stated:
    """Meaning of a confidence: bins that hold any answer, errors, scores from 0 to 1. overconfidence: in shares, p against 0.

    p_holm, verdict: as one of the family of a chapter, by `corrected`.
    """

    n: int
    n_items: int
    mean_confidence: float
    accuracy: float
    brier: float
    brier_ci95: Interval | None
    overconfidence: float
    overconfidence_ci95: Interval | None
    p: float
    error: CalibrationError
    bins: tuple[Reliability, ...]
    p_holm: float = math.nan
    verdict: Annotated[
        Verdict, Concludes("whether a model is over- or underconfident", CHAPTER, HOLM, OF_ITEMS)
    ] = Verdict.TOO_FEW
    method: str = CONFIDENCE

    def corrected(self, p_holm: float) -> Self:
        verdict = Verdict.of(self.overconfidence, p_holm, self.n_items)
        return replace(self, p_holm=p_holm, verdict=verdict)


@dataclass(frozen=True)
class Table:
    """Numbers of items by who is right; ties: of at least one of the two."""

    both: int
    asked_only: int
    scored_only: int
    neither: int
    ties: int


@dataclass(frozen=True)
class AskedOrScored:
    """One model, asked and scored, on the n items that have both; accuracies with score intervals.

    p_holm, verdict: as one of the family of a chapter, by `corrected`.
    """

    n: int
    asked: float
    asked_ci95: Interval
    scored: float
    scored_ci95: Interval
    difference: float
    ci95: Interval
    table: Table
    mcnemar: McNemar
    correlation: Correlation | None
    p_holm: float = math.nan
    verdict: Annotated[
        Verdict,
        Concludes(
            "whether a model is right more often when asked than by its perplexities",
            CHAPTER,
            HOLM,
            OF_ITEMS,
        ),
    ] = Verdict.TOO_FEW
    method: str = PAIRED

    @property
    def p(self) -> float:
        return self.mcnemar.p

    def corrected(self, p_holm: float) -> Self:
        return replace(self, p_holm=p_holm, verdict=Verdict.of(self.difference, p_holm, self.n))


def clustered_share(values: npt.ArrayLike, item: npt.ArrayLike) -> Share:
    """Mean of values (n,) from 0 to 1 about items (n,), with an interval for other items.

    se^2 = G / (G - 1) sum_g (sum over the answers of item g of (value - mean) / n)^2. Raises NotEnough without a value.

    >>> clustered_share([1, 1, 0, 0], [0, 0, 1, 1]).share
    0.5
    """
    y, items = np.asarray(values, dtype=float), np.asarray(item)
    return _share(_mean(y, items), len(y))


def position(
    original_is_a: npt.ArrayLike,
    side: npt.ArrayLike,
    log_odds: npt.ArrayLike,
    item: npt.ArrayLike,
) -> Position:
    """Preference for side A of answers (n,): original_is_a bool; side "A", "B", "" for a tie; log_odds of A in nats or NaN.

    With m_o the mean over the answers of order o of 1 for A, 0 for B and 1/2 for a tie: (m_A + m_B) / 2. An answer t of
    order o adds (y_t - m_o) / (2 n_o) to the error. Of p_a, y_t = 1 / (1 + exp(-log_odds)).
    Raises NotEnough unless there are answers in both orders.

    >>> position([True, False], ["A", "B"], [np.nan, np.nan], [0, 0]).answers.share
    0.5
    """
    first, items = np.asarray(original_is_a, dtype=bool), np.asarray(item)
    sides, odds = np.asarray(side, dtype=object), np.asarray(log_odds, dtype=float)
    chose_a = np.select([sides == "A", sides == "B"], [1.0, 0.0], 0.5)
    towards_a = _mean_of_orders(chose_a, first, items)
    known = ~np.isnan(odds)
    p_a = None
    if all((known & of).any() for of in (first, ~first)):
        p = 1 / (1 + np.exp(-np.clip(odds[known], -700, 700)))
        p_a = _share(_mean_of_orders(p, first[known], items[known]), int(known.sum()))
    return Position(_share(towards_a, len(chose_a)), p_a, towards_a.share_p(0.5))


def consistency(in_a: npt.ArrayLike, in_b: npt.ArrayLike) -> Proportion:
    """Share of items on which both orders decide for the same version, with a binomial interval.

    in_a, in_b: (items,) preference for the original where it is A, and where it is B, of any unit: above 0 for it, 0 none, NaN
    not known. Items without a preference in both orders are left out. Raises NotEnough where none is left.

    >>> consistency([1, 1, -2, 0], [2, -1, -1, 1]).accuracy.__round__(3)
    0.667
    """
    product = np.asarray(in_a, dtype=float) * np.asarray(in_b, dtype=float)
    decided = product[np.isfinite(product) & (product != 0)]
    return proportion_of_counts(int((decided > 0).sum()), len(decided))


def confidence_of_choice(p_original: npt.ArrayLike) -> tuple[Floats, Floats]:
    """(confidence, right), (items,) each, of a decision by its probability of the original: max(p, 1 - p), p > 1/2; NaN for ties.

    >>> [values.tolist() for values in confidence_of_choice([0.75, 0.25, 0.5])]
    [[0.75, 0.75, nan], [1.0, 0.0, nan]]
    """
    p = np.asarray(p_original, dtype=float)
    right = points(p - 0.5)
    return np.where(right == TIE, np.nan, np.maximum(p, 1 - p)), np.where(
        right == TIE, np.nan, right
    )


def stated(
    confidence: npt.ArrayLike, is_right: npt.ArrayLike, item: npt.ArrayLike, seed: int = 42
) -> Stated:
    """Calibration of confidence (n,), from 0.5 to 1, of answers that are right or not (n,), about items (n,); NaN left out.

    Reliability in N_BINS bins of equal width; the expected calibration error of `calibration_error`, whose interval is for
    other items and allows for its upward bias. Brier (1950, Monthly Weather Review 78).
    Raises NotEnough where no answer has a confidence.

    >>> found = stated([0.9, 0.9, 0.9, 0.9], [1, 1, 1, 0], [0, 1, 2, 3])
    >>> round(found.overconfidence, 9), round(found.brier, 9), found.bins[0].n
    (0.15, 0.21, 4)
    """
    c, right = np.asarray(confidence, dtype=float), np.asarray(is_right, dtype=float)
    known = ~(np.isnan(c) | np.isnan(right))
    if not known.any():
        raise NotEnough("No answer has a confidence.", "Ask the model for its confidence.")
    c, right, items = c[known], right[known], np.asarray(item)[known]
    brier, accuracy = _mean((c - right) ** 2, items), _mean(right, items)
    n_rare = rarer(accuracy.estimate, len(c))
    parts = Part(_mean(c, items), math.inf), Part(accuracy, n_rare, -1.0)
    over = of_parts(_mean(c - right, items), parts)
    place, width = equal_width_bins(c, 0.5, N_BINS), 0.5 / N_BINS
    bins = []
    for k in np.unique(place).tolist():
        of = place == k
        share = clustered_share(right[of], items[of])
        low, high = 0.5 + k * width, 0.5 + (k + 1) * width
        mean = float(c[of].mean())
        bins.append(Reliability(low, high, int(of.sum()), mean, share.share, share.ci95))
    return Stated(
        n=len(c),
        n_items=len(np.unique(items)),
        mean_confidence=float(c.mean()),
        accuracy=float(right.mean()),
        brier=brier.estimate,
        brier_ci95=brier.within(0.0, 1.0),
        overconfidence=over.estimate,
        overconfidence_ci95=over.within(-1.0, 1.0),
        p=over.p,
        error=calibration_error(
            c, right, items, units="test cases", low=0.5, n_bins=N_BINS, seed=seed
        ),
        bins=tuple(bins),
    )


def asked_or_scored(
    asked: npt.ArrayLike,
    scored: npt.ArrayLike,
    margin_asked: npt.ArrayLike,
    margin_scored: npt.ArrayLike,
) -> AskedOrScored:
    """Points (items,) of 0, 1/2 (a tie) and 1, and margins (items,) of one model both ways; NaN not known.

    The difference is asked minus scored, over the items that have both; its test and interval are those of `mcnemar`. The
    correlation of margins is Spearman's. Raises NotEnough where no item has both.

    >>> found = asked_or_scored([1, 1, 0.5, 0], [1, 0, 0, 0], [3, 1, 0, -1], [2, -1, -2, -3])
    >>> found.difference, found.table
    (0.375, Table(both=1, asked_only=1, scored_only=0, neither=1, ties=1))
    """
    x, y = np.asarray(asked, dtype=float), np.asarray(scored, dtype=float)
    known = ~(np.isnan(x) | np.isnan(y))
    if not known.any():
        raise NotEnough(
            "No test case was both asked and scored.", "Score the test cases that were asked."
        )
    x, y = x[known], y[known]
    margins = (np.asarray(m, dtype=float)[known] for m in (margin_asked, margin_scored))
    change = mcnemar(y, x)
    both, asked_only, scored_only, neither = (
        int(((x == first) & (y == second)).sum())
        for first in (RIGHT, WRONG)
        for second in (RIGHT, WRONG)
    )
    ties = int(((x == TIE) | (y == TIE)).sum())
    return AskedOrScored(
        n=len(x),
        asked=float(x.mean()),
        asked_ci95=proportion(x).ci95,
        scored=float(y.mean()),
        scored_ci95=proportion(y).ci95,
        difference=change.difference,
        ci95=change.ci95,
        table=Table(both, asked_only, scored_only, neither, ties),
        mcnemar=change,
        correlation=spearman(*margins) if len(x) >= 3 else None,
    )


def _mean(values: Floats, items: npt.NDArray[np.generic]) -> TwoWay:
    """The mean, with an error clustered by items."""
    if not len(values):
        raise NotEnough(*NO_ANSWER)
    found = _clustered(float(values.mean()), (values - values.mean()) / len(values), items)
    return replace(found, ties=share_of_ties(values))


def _mean_of_orders(values: Floats, first: Bools, items: npt.NDArray[np.generic]) -> TwoWay:
    if not len(first):
        raise NotEnough(*NO_ANSWER)
    if not (first.any() and (~first).any()):
        raise NotEnough("Only one order of the versions has answers.", "Ask in both orders.")
    errors, means = np.empty(len(values)), []
    for of in (first, ~first):
        mean = float(values[of].mean())
        errors[of] = (values[of] - mean) / (2 * of.sum())
        means.append(mean)
    return _clustered(sum(means) / 2, errors, items)


def _clustered(estimate: float, errors: Floats, items: npt.NDArray[np.generic]) -> TwoWay:
    group = np.unique(items, return_inverse=True)[1].ravel()
    n_items = int(group.max()) + 1
    se = math.sqrt(float(covariance(errors[:, None], [group])[0, 0])) if n_items > 1 else math.nan
    return clustered(estimate, se, n_items)


def _share(found: TwoWay, n: int) -> Share:
    return Share(n, found.n_clusters, found.estimate, found.share_ci95 if found.is_known else None)
