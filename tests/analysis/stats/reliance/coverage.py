"""How often intervals hold what was planted, over simulated studies."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from analysis.stats.arrays import Interval
from analysis.stats.reliance import confidence, measures
from analysis.stats.reliance.realised import realised
from analysis.stats.reliance.trials import Estimate, difference, mean, share
from tests.analysis.stats.reliance.planted import (
    WEIGHT,
    Planted,
    draw,
    draw_weights,
    truths,
)

Found = Mapping[str, tuple[float, Interval | None]]


def found_in(planted: Planted, *, with_calibration: bool = True) -> Found:
    """Every estimate of a study, with its interval, by the names of `truths`."""
    trials = planted.trials
    advised, alone = trials.of(planted.is_advised), trials.of(~planted.is_advised)
    estimates: dict[str, Estimate] = {
        "accuracy before": share(advised, advised.right_before),
        "accuracy after": share(advised, advised.right_after),
        "change": mean(advised, advised.right_after - advised.right_before),
        "arm effect": difference(trials, trials.right_after, planted.is_advised),
        "agreement": measures.agreement(advised),
        "agreement without advice": measures.agreement(alone),
        "switching": measures.switching(trials),
        "rair": measures.relative_ai_reliance(trials),
        "rsr": measures.relative_self_reliance(trials),
        "overreliance": measures.overreliance(advised),
        "underreliance": measures.underreliance(advised),
    }
    every = measures.detection(advised)
    differ = measures.detection(trials.of(trials.disagrees))
    time = confidence.time_ratio(trials, trials.rt_ms, planted.is_advised)
    gain = realised(
        advised,
        advised.right_before,
        advised.right_after,
        planted.team_right[planted.is_advised],
    )
    found = {name: (one.value, one.ci95) for name, one in estimates.items()} | {
        "d'": (every.d_prime, every.d_prime_ci95),
        "criterion": (every.criterion, every.criterion_ci95),
        "d' where answers differ": (differ.d_prime, differ.d_prime_ci95),
        "time ratio": (time.ratio, time.ci95),
        "unused": (gain.unused.value, gain.unused.ci95),
    }
    if isinstance(gain.share, float):
        found["share realised"] = gain.share, gain.share_ci95
    return found | (_calibration(planted) if with_calibration else {})


def _calibration(planted: Planted) -> Found:
    both = confidence.before_and_after(planted.trials)
    estimates = {
        "overconfidence before": both.before.overconfidence,
        "overconfidence after": both.after.overconfidence,
        "change of overconfidence": both.change_overconfidence,
        "Brier score before": both.before.brier,
        "change of Brier score": both.change_brier,
    }
    return {name: (one.value, one.ci95) for name, one in estimates.items()}


def weights_in(seed: int) -> Found:
    own = measures.weight_of_advice(draw_weights(seed))
    return {"weight": (own.slope.value, own.slope.ci95)}


def covered(
    seeds: Iterable[int], find: Callable[[int], Found], truth: Mapping[str, float]
) -> dict[str, tuple[float, float, int]]:
    """Name -> share of intervals that hold the truth, mean error in standard errors of the mean, number of intervals."""
    every = [find(seed) for seed in seeds]
    result = {}
    for name, right in truth.items():
        values = np.array([found[name][0] for found in every if name in found])
        ends = np.array([found[name][1] for found in every if name in found and found[name][1]])
        holds = (ends[:, 0] <= right) & (right <= ends[:, 1])
        off = (values.mean() - right) / (values.std(ddof=1) / np.sqrt(len(values)))
        result[name] = float(holds.mean()), float(off), len(ends)
    return result


def of_studies(
    seeds: Iterable[int], *, with_calibration: bool = True
) -> dict[str, tuple[float, float, int]]:
    known = truths()
    if not with_calibration:
        known = {n: t for n, t in known.items() if "onfidence" not in n and "Brier" not in n}
    return covered(
        seeds, lambda seed: found_in(draw(seed), with_calibration=with_calibration), known
    )


def of_weights(seeds: Iterable[int]) -> dict[str, tuple[float, float, int]]:
    return covered(seeds, weights_in, {"weight": WEIGHT})
