"""How far stated probabilities of being correct are off: the expected calibration error, with its interval."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Interval, Ints
from analysis.stats.calibration import scored
from analysis.stats.crossed_bootstrap import times_drawn
from analysis.stats.distributions import percentile_interval

ERROR = (
    "Expected calibration error: |accuracy - mean probability| of each bin, averaged with the bins' numbers of judgements "
    "as weights. It is above 0 even for perfect calibration: `when_calibrated` is its mean, `when_calibrated_q95` its "
    "95th percentile, in simulations where each bin's accuracy is its mean probability."
)
INTERVAL = (
    "Approximate 95% interval from {resamples:,} resamples of {units} (seed {seed}), reflected about the value (basic bootstrap), since "
    "resampling adds the same upward bias once more; it reaches to the value at least, and down to 0 where the value "
    "is no larger than `when_calibrated_q95`."
)
IN_GROUPS = "{n:,} random groups of {units}"
N_SIMULATIONS = N_RESAMPLES = 1000
MOST_UNITS = 2000  # so that a million judgements cost no more to resample than these


@dataclass(frozen=True)
class CalibrationError:
    """Of `calibration_error`, in units of accuracy; when_calibrated: its mean and 95th percentile were chance the only error."""

    value: float
    ci95: Interval | None
    n: int
    n_bins: int
    mean_probability: float
    accuracy: float
    when_calibrated: float
    when_calibrated_q95: float
    resamples: int
    seed: int
    rule: str
    ci_method: str
    method: str = ERROR


def calibration_error(
    probability: npt.ArrayLike,
    is_correct: npt.ArrayLike,
    unit: npt.ArrayLike | None = None,
    *,
    units: str = "judgements",
    low: float = 0.0,
    n_bins: int = 20,
    seed: int = 42,
) -> CalibrationError:
    """Expected calibration error of probabilities (n,) of being correct in n_bins bins of equal width on [low, 1].

    sum over bins of n_b / n |accuracy_b - mean probability_b|; bins are half-open, the last closed; the unit is that of
    accuracy. Judgements without a probability (NaN) are left out. The interval resamples with replacement what `unit`
    (n,) numbers, any labels (None: each judgement by itself), called `units` in the method; more than 2,000 of them in as many random groups. With E the
    value and q its resampled quantiles: [2 E - q(.975), 2 E - q(.025)], see INTERVAL; None below two units.
    Raises NotEnough when no judgement is left.

    >>> calibration_error([0.9, 0.9, 0.9, 0.9], [1, 1, 1, 0]).value.__round__(9)
    0.15
    """
    values, right = scored(probability, is_correct)
    n = len(values)
    if n == 0:
        raise NotEnough("No judgement has a probability.", "At least one is needed.")
    place = equal_width_bins(values, low, n_bins)
    counts, stated, correct = (np.bincount(place, weights=w) for w in (None, values, right))
    filled = counts > 0
    counts, stated, correct = counts[filled], stated[filled], correct[filled]
    mean = np.clip(stated / counts, 0, 1)
    rng = np.random.default_rng(seed)
    draws = rng.binomial(counts, mean, (N_SIMULATIONS, len(counts)))
    calibrated = np.abs(draws - stated).sum(axis=1) / n
    value, limit = float(np.abs(correct - stated).sum() / n), float(np.quantile(calibrated, 0.95))
    groups, drawn = _groups(probability, is_correct, unit, units, rng)
    resampled = _resampled(groups, place, right - values, n_bins, rng)
    return CalibrationError(
        value=value,
        ci95=_interval(value, resampled, limit),
        n=n,
        n_bins=n_bins,
        mean_probability=float(values.mean()),
        accuracy=float(right.mean()),
        when_calibrated=float(calibrated.mean()),
        when_calibrated_q95=limit,
        resamples=N_RESAMPLES,
        seed=seed,
        rule=f"{n_bins} bins of equal width on [{low:g}, 1], {len(counts)} of them filled",
        ci_method=INTERVAL.format(resamples=N_RESAMPLES, units=drawn, seed=seed),
    )


def equal_width_bins(values: Floats, low: float, n_bins: int) -> Ints:
    """(n,) the bin of each value in [low, 1]: half-open, the last closed. A value within rounding of an edge is above it.

    >>> equal_width_bins(np.array([0.0, 0.3, 1.0]), 0.0, 10)  # 0.3 / 0.1 is a little below 3
    array([0, 3, 9])
    """
    place = np.floor((values - low) * n_bins / (1 - low) + 1e-9)
    return np.clip(place, 0, n_bins - 1).astype(np.int64)


def _groups(
    probability: npt.ArrayLike,
    is_correct: npt.ArrayLike,
    unit: npt.ArrayLike | None,
    units: str,
    rng: np.random.Generator,
) -> tuple[Ints, str]:
    """(judgements with a probability,) number from 0 of what is drawn as one, and what that is in words."""
    known = ~np.isnan(np.asarray(probability, float) + np.asarray(is_correct, float))
    labels = np.flatnonzero(known) if unit is None else np.asarray(unit)[known]
    group: Ints = np.unique(labels, return_inverse=True)[1]
    n_groups = int(group.max()) + 1
    if n_groups <= MOST_UNITS:
        return group, units
    dealt: Ints = rng.permutation(n_groups) % MOST_UNITS
    return dealt[group], IN_GROUPS.format(n=MOST_UNITS, units=units)


def _resampled(
    group: Ints, place: Ints, excess: Floats, n_bins: int, rng: np.random.Generator
) -> Floats:
    """(resamples,) the error, from each group's number of judgements and its sum of correct - probability by bin."""
    n_groups = int(group.max()) + 1
    sums = np.bincount(group * n_bins + place, excess, n_groups * n_bins).reshape(n_groups, n_bins)
    times = times_drawn(rng, N_RESAMPLES, n_groups)
    errors: Floats = np.abs(times @ sums).sum(axis=1) / (times @ np.bincount(group))
    return errors if n_groups > 1 else errors[:0]


def _interval(value: float, resampled: Floats, limit: float) -> Interval | None:
    if not len(resampled):
        return None
    q_low, q_high = percentile_interval(resampled)
    low = 0.0 if value <= limit else max(0.0, 2 * value - q_high)
    return min(low, value), max(2 * value - q_low, value)
