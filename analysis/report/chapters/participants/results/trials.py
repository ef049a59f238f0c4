"""How often each item was judged, and how long people took over a trial."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.codec import MissingResult
from analysis.data.dataset import Floats, SourceData
from analysis.report.chapter import Built
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.stats.distributions import Exposures, exposures, spread_of


@dataclass(frozen=True)
class ItemExposures:
    exposures: Exposures | MissingResult


def build_exposures(data: SourceData) -> Built:
    """The counts described, and the table exposures_items (item, subfield, n_trials)."""
    data.need_trials()
    table = pd.DataFrame(
        {
            "item": data.items["key"].to_numpy(),
            "subfield": data.items["subfield"].to_numpy(),
            "n_trials": data.item_counts.astype("int64"),
        }
    )
    return Built(ItemExposures(exposures(data.item_counts)), {"exposures_items": table})


BINS_PER_DECADE = 10
REACTION_TIMES_METHOD = (
    "Milliseconds from the page's appearance to the answer. Times that were not measured, or are not positive, are "
    "left out. Quantiles by linear interpolation; natural logarithms, SD with n-1; 95% interval of the median from "
    "order statistics. Ten bins per factor of ten, including their lower edge."
)


@dataclass(frozen=True)
class TimeBin:
    """`n` times in seconds, from `low_s` to below `high_s`."""

    low_s: float
    high_s: float
    n: int


@dataclass(frozen=True)
class AnswerTimes:
    """Median, quartiles and the median's interval in ms, of right or of wrong answers; None where there is none."""

    is_correct: bool
    n: int
    median: float | None = None
    q1: float | None = None
    q3: float | None = None
    ci95: Interval | None = None


@dataclass(frozen=True)
class Times:
    """In `unit`, the histogram in seconds; logarithms are natural. n_missing: trials without a time."""

    n: int
    n_missing: int
    unit: str
    mean: float
    quartiles: tuple[float, float, float]
    q01: float
    q05: float
    q95: float
    q99: float
    min: float
    max: float
    mean_log: float
    sd_log: float | None
    median_ci95: Interval | None
    histogram: tuple[TimeBin, ...]
    by_correct: tuple[AnswerTimes, ...]
    method: str = REACTION_TIMES_METHOD


@dataclass(frozen=True)
class ReactionTimes:
    reaction_times: Times | MissingResult


def build_reaction_times(data: SourceData) -> Built:
    """The times described, and the table reaction_times_histogram."""
    trials = data.need_trials()
    times: Floats = trials["rt_ms"].to_numpy(dtype=np.float64)
    is_known = times > 0
    if not is_known.any():
        raise NotEnough(
            "No trial has a measured reaction time.",
            "Import or collect trials with reaction times.",
        )
    times, right = times[is_known], trials["is_correct"].to_numpy(dtype=bool)[is_known]
    spread, logs, bins = spread_of(times), np.log(times), _histogram(times / 1000)
    by_correct = []
    for is_correct in (True, False):
        if len(own := times[right == is_correct]):
            of = spread_of(own)
            by_correct.append(AnswerTimes(is_correct, of.n, of.median, of.q1, of.q3, of.ci95))
        else:
            by_correct.append(AnswerTimes(is_correct, 0))
    q01, q05, q95, q99 = (float(np.quantile(times, p)) for p in (0.01, 0.05, 0.95, 0.99))
    found = Times(
        n=len(times),
        n_missing=int((~is_known).sum()),
        unit="ms",
        mean=spread.mean,
        quartiles=(spread.q1, spread.median, spread.q3),
        q01=q01,
        q05=q05,
        q95=q95,
        q99=q99,
        min=spread.min,
        max=spread.max,
        mean_log=float(logs.mean()),
        sd_log=float(logs.std(ddof=1)) if len(logs) > 1 else None,
        median_ci95=spread.ci95,
        histogram=bins,
        by_correct=tuple(by_correct),
    )
    return Built(ReactionTimes(found), {"reaction_times_histogram": pd.DataFrame(bins)})


def _histogram(seconds: Floats) -> tuple[TimeBin, ...]:
    """Counts in bins with edges at tenths of powers of ten, from the smallest to the largest value."""
    first = int(np.floor(np.log10(seconds.min()) * BINS_PER_DECADE))
    last = int(np.floor(np.log10(seconds.max()) * BINS_PER_DECADE)) + 1
    edges = 10.0 ** (np.arange(first, last + 1) / BINS_PER_DECADE)
    # An extreme value may lie a rounding beyond its edge
    inside = np.clip(np.searchsorted(edges, seconds, side="right") - 1, 0, len(edges) - 2)
    n = np.bincount(inside, minlength=len(edges) - 1)
    return tuple(
        TimeBin(*row)
        for row in zip(edges[:-1].tolist(), edges[1:].tolist(), n.tolist(), strict=True)
    )
