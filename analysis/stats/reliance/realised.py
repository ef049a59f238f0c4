"""Real decisions with advice against those that a rule makes of the same first answers and the same advice."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from analysis.stats import MissingResult, NotEnough
from analysis.stats.arrays import Floats, Interval
from analysis.stats.reliance.trials import AdvisedTrials, Estimate, change, mean_error
from analysis.stats.two_way_clustered import of_parts, parts_of_changes

METHOD = (
    "Share of the computed gain that is realised: (accuracy of final answers - that of first answers) / (accuracy of the "
    "computed team - that of first answers), on the same trials. Fieller's 95% interval, with errors clustered by participants and "
    "test cases; it exists where the interval of the computed gain is above 0. The team's predictions are held out, and taken as "
    "they are."
)
NO_GAIN = MissingResult(
    "The share is not defined, because the computed team is not more accurate than the first answers.",
    "A computed team that gains on these trials.",
)
WIDEST = 1e3  # multiples of the computed gain, beyond which no end is looked for
STEPS = 60  # halvings


@dataclass(frozen=True)
class Realised:
    """real, computed: gains over the first answers; unused: computed minus real accuracy; share of the computed gain."""

    real: Estimate
    computed: Estimate
    unused: Estimate
    share: float | MissingResult
    share_ci95: Interval | None
    method: str = METHOD


def realised(
    trials: AdvisedTrials, first: npt.ArrayLike, final: npt.ArrayLike, computed: npt.ArrayLike
) -> Realised:
    """Realised gain, from whether (n,) first answers, final answers and a computed team's decisions are right, on trials (n,).

    share = N / D, N = mean(final - first), D = mean(computed - first), where D > 0. Interval: the ratios r that the test of
    mean(N_t - r D_t) = 0 does not reject, |N - r D| <= t se(N - r D), with two-way errors (Fieller 1954, J. R. Stat. Soc. B
    16) and the limits of `of_parts`. It is bounded where D is clear of 0, else None. Raises NotEnough without a trial.
    """
    before, after, team = (np.asarray(x, dtype=float) for x in (first, final, computed))
    if not len(before):
        raise NotEnough("No trial has all three decisions.", "Let participants finish the study.")
    real, possible = after - before, team - before
    gain = change(trials, possible)
    share, ends = _share(trials, real, possible, gain)
    return Realised(
        real=change(trials, real),
        computed=gain,
        unused=change(trials, team - after),
        share=share,
        share_ci95=ends,
    )


def _share(
    trials: AdvisedTrials, real: Floats, possible: Floats, gain: Estimate
) -> tuple[float | MissingResult, Interval | None]:
    if gain.value <= 0:
        return NO_GAIN, None
    share = float(real.mean() / possible.mean())
    if gain.ci95 is None or gain.ci95[0] <= 0:
        return share, None

    error = partial(mean_error, trials)

    def beyond(ratio: float) -> bool:
        """True if the test rejects this ratio."""
        parts = parts_of_changes(real, error, trials.item)
        parts += parts_of_changes(possible, error, trials.item, -ratio)
        low, high = of_parts(error(real - ratio * possible), parts).ci95
        return low > 0 or high < 0

    ends = _end(beyond, share, -1.0), _end(beyond, share, 1.0)
    return share, ends if all(map(math.isfinite, ends)) else None


def _end(beyond: Callable[[float], bool], start: float, direction: float) -> float:
    """Where rejection begins in this direction."""
    far = 1.0
    while not beyond(start + direction * far):
        far *= 2
        if far > WIDEST:
            return math.nan
    low, high = 0.0, far
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(start + direction * middle) else (middle, high)
    return start + direction * high
