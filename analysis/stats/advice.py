"""How sure an adviser may be said to be: the probability that its choice is right, from how right it was on other items."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Ints
from analysis.stats.logistic import fit_slope

N_FOLDS = 10
TINY = 1e-9  # 0.7 times 10 is a little less than 7
METHOD = (
    "Confidence is the probability that the choice is correct: logistic regression of correct or wrong on the absolute "
    "evidence, by maximum likelihood, fitted to the test cases of other folds. Test cases of one publication are in one fold. Where such a fit does not exist, it is "
    "(k + 1) / (n + 2) with k of n choices correct in the other folds. Values below 0.5 are raised to 0.5."
)


@dataclass(frozen=True)
class Calibrated:
    """Result of `calibrated`, for each item.

    p: probability that the choice is right, from 0.5. fold: in which the item was held out. coefficients: of each fold's
    fit, (intercept, slope); None where the share of right choices stands in for it. n_raised: values below 0.5.
    """

    p: Floats
    fold: Ints
    coefficients: tuple[tuple[float, float] | None, ...]
    n_raised: int


def calibrated(
    evidence: npt.ArrayLike,
    is_right: npt.ArrayLike,
    *,
    seed: int,
    work: npt.ArrayLike | None = None,
) -> Calibrated:
    """Out-of-sample probability that each choice is right; METHOD says how.

    Args:
        evidence: (n,) how strongly the adviser prefers what it chose, from 0. is_right: (n,) whether the choice was right.
        seed: of the folds, which have equal numbers of works, ten or one for each work where they are fewer.
        work: (n,) the publication behind each item, held out as a whole; None, each has its own.
    Raises:
        NotEnough: fewer than two items, or works.

    >>> found = calibrated([0, 0, 0, 1, 1, 1] * 9, [0, 0, 1, 0, 1, 1] * 9, seed=1)
    >>> len(found.p), bool(0.5 <= found.p.min() <= found.p.max() < 0.8)
    (54, True)
    """
    score, right = np.asarray(evidence, dtype=float), np.asarray(is_right, dtype=float)
    n = len(score)
    names = np.arange(n) if work is None else np.asarray(work)
    works, of_work = np.unique(names, return_inverse=True)
    if len(works) < 2:
        raise NotEnough(
            "The confidence of an adviser on a test case is calibrated on other test cases.",
            "Add test cases.",
        )
    fold_of_work = np.arange(len(works)) % min(N_FOLDS, len(works))
    np.random.default_rng(seed).shuffle(fold_of_work)
    fold = fold_of_work[of_work]
    p, coefficients = np.empty(n), list[tuple[float, float] | None]()
    for k in range(int(fold.max()) + 1):
        held = fold == k
        try:
            fit = fit_slope(score[~held], right[~held])
        except NotEnough:
            coefficients.append(None)
            p[held] = (right[~held].sum() + 1) / ((~held).sum() + 2)
        else:
            coefficients.append((fit.intercept, fit.slope))
            p[held] = expit(fit.intercept + fit.slope * score[held])
    return Calibrated(np.maximum(p, 0.5), fold, tuple(coefficients), int((p < 0.5).sum()))


def planted(
    strata: npt.ArrayLike, accuracy: float, *, seed: int, given: Mapping[int, bool] | None = None
) -> Bools:
    """On which items advice is right, (n,): as many as `accuracy` says, rounded, in total and in each stratum, drawn at random.

    What the strata lack of the total goes to those that lack most.

    Args:
        given: by place, items on which it is decided; the others are given what these lack.

    >>> planted(["human"] * 8 + ["machine"] * 4, 0.75, seed=1).sum()
    np.int64(9)
    >>> planted(["human"] * 4, 0.5, seed=1, given={0: True, 1: True}).tolist()
    [True, True, False, False]
    """
    names, place = np.unique(np.asarray(strata), return_inverse=True)
    right, free = np.zeros(len(place), dtype=bool), np.ones(len(place), dtype=bool)
    for at, is_right in (given or {}).items():
        right[at], free[at] = is_right, False
    wanted, room = accuracy * np.bincount(place), np.bincount(place[free], minlength=len(names))
    lacks = wanted - np.bincount(place[right], minlength=len(names))
    counts = np.clip(np.floor(lacks + TINY), 0, room).astype(np.int64)
    lacking = min(round(accuracy * len(place)) - int(right.sum()), int(room.sum()))
    for _ in range(lacking - int(counts.sum())):
        counts[np.argmax(np.where(counts < room, lacks - counts, -np.inf))] += 1
    rng = np.random.default_rng(seed)
    for stratum in range(len(names)):
        rows = rng.permutation(np.flatnonzero((place == stratum) & free))
        right[rows[: counts[stratum]]] = True
    return right


def passage_shares(nats: Floats, *, picks_original: bool) -> Floats:
    """Each passage's share of the evidence, from -1 (all of it against the choice) to 1; the absolute shares add up to 1.

    Args:
        nats: (passages,) how much less likely the altered version is than the original, from the start of a passage up to
            the next: its own tokens, and what they do to the text after them.

    >>> passage_shares(np.array([3.0, -1.0]), picks_original=True).tolist()
    [0.75, -0.25]
    """
    total = np.abs(nats).sum()
    if not total:
        return np.zeros(len(nats))
    signed: Floats = (nats if picks_original else -nats) / total
    return signed
